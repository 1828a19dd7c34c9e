"""One pod under its worker, from the first sync to the last clean-up: the worker and its parts.

Open `worker.py` first: it walks the stages of `actors/pod_rules/lifecycle.py`. `steps/` has what a pass does, one file
for each gate or step, and `actors/pod_rules/actions.py` decides what to do next. `parts.py` builds the parts
and puts the steps in order; `one_pass.py` has what one pass knows.
"""
