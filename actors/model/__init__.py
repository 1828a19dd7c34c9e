"""Values that several rooms share: who a container is, what the runtime shows, what probes say. Pure.

Messages carry them and rule books read them. All are immutable. Nothing here decides anything. Open `observed.py`
first: it is the picture of one pod that a worker decides on. `identity.py` has the labels and annotations by which a
container is known again.
"""
