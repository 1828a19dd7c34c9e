"""The published status of every pod: all statuses leave the node through `StatusManagerActor`.

Open `manager.py` first. `published.py` records one pod, `queue.py` orders the writes, `urgency.py` decides what may
wait. `merge.py` and `patch.py` make the patch.
"""
