"""Which pod workers exist.

Open `loop.py` first: `SyncLoopActor` takes the changes of `StorageActor`, makes and ends workers, and asks after
orphans. `entries.py` is what it knows of each pod, `name_lines.py` who waits for the name of a static pod.
"""
