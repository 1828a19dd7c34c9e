"""What the runtime runs: `PlegActor` lists it, compares, and tells the pods concerned to look again.

Open `pleg.py` first, then `listing.py`: how two pictures differ. `event_gatherer.py` takes the events of the runtime,
`runtime_monitor.py` asks whether the runtime is ready, `oom_watcher.py` hears of kills for want of memory.
"""
