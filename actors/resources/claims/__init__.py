"""Claims of devices that pods of this node use, and the drivers that make them ready (spec 10.12).

Open `life.py` first: the life of one claim, as a table. `owner.py` has `ResourceClaimsActor`, which answers pods. Its
part `book.py` has the claims and does what is due, with `calls.py`, which batches calls to drivers. `reads.py` reads
claims, and `allowed.py` says whether a pod may use one. `health.py` follows what drivers say of devices. `written.py`
is the book in a file, in a kubelet's format. `slices.py` takes away what drivers offered that have gone.
"""
