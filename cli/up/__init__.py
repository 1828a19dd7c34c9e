"""`actorlet up`: a node in one command, with a live table.

Open `command.py` first. `progress.py` is one look at the node as a value; `screens.py` has the three ways to show it.
"""
