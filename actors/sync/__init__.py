"""Which pod workers exist: the parts of `SyncLoopActor`.

Open `loop.py` first, which routes the changes.

`state.py` holds what the parts share; `workers.py` decides who may start, starts workers and briefs them; `partners.py`
serves other actors. `turns.py` lets new pods start a few at a time, and `start_window.py` decides how many.
"""
