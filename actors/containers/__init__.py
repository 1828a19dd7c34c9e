"""Garbage collection of dead containers, sandboxes and logs, and log rotation.

Open `gc.py` first: `ContainerGCActor` decides what is removed, and the children in `removal.py` remove it.
`log_rotation.py` bounds the logs of running containers.
"""
