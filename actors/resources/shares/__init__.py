"""Gives a pod all of its CPUs and memory in one step, or refuses it.

Open `assigning.py` first: `assign` is the question, and the answer is what goes into the node's book. `whole_pods.py`
is the same for pods with resources of their own. `book.py` gives back. Pure.
"""
