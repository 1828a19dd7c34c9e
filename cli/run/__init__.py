"""`actorlet run`: the agent, with the flags of a kubelet.

Open `command.py` first. `node_start.py` puts a node together. `machine_checks.py` checks the machine before the start.
`joining.py` gets the node's first credentials.
"""
