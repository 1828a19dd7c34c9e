"""`actorlet sweep`: finds the bugs of operators by crashes, old reads, missed states, failing nodes.

Open `command.py` first. `player.py` plays runs in one process, `side_by_side.py` in several, `page.py` is the report.
"""
