"""The published status of every pod: all statuses leave the node through `StatusManagerActor`.

Open `manager.py` first. `published.py` knows what is written and what waits, `queue.py` the order, `urgency.py` what
may wait. `merge.py` and `patch.py` make the patch.
"""
