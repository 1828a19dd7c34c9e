"""The simulated machine: its disk, cgroups, usage, plugins, and how it goes down.

Open `host.py` first. `file_tree.py` is the file system in memory; everything that lies on the disk is in it.
"""
