"""One pod: its worker, and the parts that the worker is made of.

Open `worker.py` first: it walks the stages of `lifecycle.py`. `steps/` has what a pass does, one file for each gate or
step, and `actions.py` decides what to do next. `pod_pass.py` names the parts and what one pass knows.
"""
