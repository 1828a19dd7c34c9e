"""One pod under its worker, from first sync to last trace.

Open `worker.py` first: `PodWorker` walks the lifecycle table of `actors/pod_rules/lifecycle.py`. Each other file is a
part of the worker with one concern.
"""
