"""What containers leave behind: dead ones, dead sandboxes, and logs.

Open `gc.py` first: `ContainerGCActor` decides what is removed, and the children in `removal.py` remove it.
`log_rotation.py` bounds the logs of containers that run.
"""
