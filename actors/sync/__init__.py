"""Which pod workers exist: the parts of `SyncLoopActor`. Open `actors/sync/loop.py` first, which routes the changes.

`state.py` holds what the parts share; `starts.py` decides who may start, `workers.py` starts and briefs workers,
`orphans.py` ends what nobody desires. `failing_pods.py` and `quarantine.py` keep one pod's fault from the others.
`mirrors.py`, `restarts.py` and `questions.py` serve other actors.
"""
