"""A whole node agent on a simulated machine, in one process.

Open `simulated_node.py` first: host, runtime and the very same `Node` that runs on real machines. `hollow_nodes.py`
joins many of them to a real API server. `addresses.py` gives the nodes of a cluster pod networks of their own.
"""
