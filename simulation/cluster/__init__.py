"""The process behind `actorlet.testing`: a simulated cluster that a test of another program drives.

Open `child.py` first: it is the process. `orders.py` has its orders; `cluster_world.py` is the world that they change.
"""
