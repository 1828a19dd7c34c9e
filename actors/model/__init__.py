"""Values that several rooms share: what the runtime shows, what probes say, what a pod is allocated.

Pure.

Messages carry them and rule books read them. All are immutable. Nothing here decides anything. Open `observed.py`
first: it is the picture of one pod that a worker decides on.
"""
