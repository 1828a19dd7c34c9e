"""The way of every write, of every verb, kind and content type, in the order of a kube-apiserver.

Open `write.py` first: it has the stages and their order; each stage is a file. `removal.py` is the way of a deletion.
What is special about a kind is not here but in `strategies`, which the stages ask.
"""
