"""Files and directories: reading, watching, locking, and finding what lies beneath a directory.

Open `watch.py` for changes on disk and `beneath.py` for paths that must not leave a directory.
`disk_turns.py` keeps calls to a disk that may hang in order.
"""
