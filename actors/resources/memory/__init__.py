"""On which NUMA nodes a container has its memory: `memoryManagerPolicy: Static` (spec 10.9).

Open `static.py` first: hints, and the blocks for a request. `amounts.py` says what each node has left, from the blocks
of all pods. Pure.
"""
