"""Watches the runtime: `PlegActor` lists, compares, and tells changed pods to look again.

Open `pleg.py` first, then `listing.py`: how two pictures differ. `event_gatherer.py` collects the runtime's events,
`runtime_monitor.py` checks that the runtime is ready, `oom_watcher.py` reports out-of-memory kills.
"""
