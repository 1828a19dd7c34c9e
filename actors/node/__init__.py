"""The node as a whole: its supervisor, its wiring, its shutdown, its certificates and its metrics.

Open `supervisor.py` first: `NodeSupervisor` starts all actors of a node and keeps them alive. `plan.py` has what they
are made from, `wiring/` says which actor gets what. `node.py` is the node as one object, for the command line and for
tests. `status/` writes the Node object.
"""
