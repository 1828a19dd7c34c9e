"""`actorlet simulate`: scenarios in virtual time, for one seed or many.

Open `command.py` first. `seeds_side_by_side.py` uses all cores; `failed_runs.py` shrinks and saves failures.
"""
