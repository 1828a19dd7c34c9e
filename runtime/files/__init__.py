"""Files and directories: read, write, watch, lock, walk, and look up names beneath a directory.

There is one way for each. `whole_file.py` replaces a file, `directories.py` makes directories with their modes,
`tree.py` walks and removes trees of any depth, `beneath.py` finds paths that must not leave a directory. `watch.py`
tells changes on disk. `disk_turns.py` keeps calls to a disk that may hang in order.
"""
