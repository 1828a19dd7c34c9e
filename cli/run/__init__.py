"""`actorlet run`: the agent proper, with the flags of a kubelet.

Open `command.py` first. `node_start.py` puts a node together, `machine_checks.py` looks whether it may start,
`joining.py` gets its first credentials.
"""
