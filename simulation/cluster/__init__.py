"""The process behind `actorlet.testing`: a simulated cluster that a test of somebody's program drives.

`child.py` is the process and comes first; `orders.py` has what it is told, and `cluster_world.py` the world that does
it.
"""
