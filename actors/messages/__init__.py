"""What the actors of a node say to each other, one file per subject.

Facts are past participles (`PodAdmitted`), requests are imperatives (`SyncPod`). Every message is frozen, and so are
its fields. Open `pods.py` first: it has the way of a pod from its source to its worker. A file names who sends each
message and who gets it.
"""
