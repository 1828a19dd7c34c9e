"""The messages between the actors of a node, one file per subject.

Facts are past participles (`PodAdmitted`), requests are imperatives (`SyncPod`). Every message is frozen, and so are
its fields. Open `pods.py` first: it has the messages that bring a pod from its source to its worker. A file names who
sends each message and who gets it.
"""
