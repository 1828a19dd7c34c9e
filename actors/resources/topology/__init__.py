"""The NUMA nodes on which a pod should have its resources: hints, and the choice (spec 10.10).

Open `merging.py` first: one function makes one hint of those for each resource. `masks.py` has sets of NUMA nodes.
Pure.
"""
