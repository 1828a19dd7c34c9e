"""The Node object, its Lease and its CSINode (spec 9): what to write. Pure.

It follows from the last object and the known facts.

Open `status.py` first: it computes the status. `conditions.py`, `capacity.py` and `addresses.py` are its parts;
`registration.py` has the object of a new node. The actors that write are in `actors/node/status`.
"""
