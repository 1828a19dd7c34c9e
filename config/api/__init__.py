"""The API of a cluster as data: resources, selectors, the summary of statistics.

Open `resources.py` first: group, version, plural and kind of what a node uses.
"""
