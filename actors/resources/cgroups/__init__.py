"""The cgroups of the node, of its tiers and of each pod (spec 10.2 to 10.6).

Open `actor.py` first: `CgroupActor` owns them all. `plan.py` says how this node groups its pods, `limits.py` which
limits are written, `book.py` which pods have cgroups. Calls to the kernel run on a lane: `making.py` makes those of
new pods, and `turn.py` is one call for many of them.
"""
