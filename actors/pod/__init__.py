"""One pod under its worker, from first sync to last trace: the worker, and the parts that it is made of.

Open `worker.py` first: it walks the stages of `actors/pod_rules/lifecycle.py`. `steps/` has what a pass does, one file
for each gate or step, and `actors/pod_rules/actions.py` decides what to do next. `pod_pass.py` names the parts and what
one pass knows.
"""
