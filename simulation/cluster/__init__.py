"""A simulated cluster that a test of another program drives.

Open `running_cluster.py` first: a world, its API server and the orders that it obeys. `embedded_cluster.py` and
`plane_cluster.py` are the two kinds, with our API server and with a real one. `child.py` is the process behind
`actorlet.testing`; `control_port.py` takes orders over HTTP. `orders.py` has the orders, and `cluster_world.py` is the
world that they change.
"""
