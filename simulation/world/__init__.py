"""One world: an API server, a scheduler, nodes, one clock, and the invariants.

Open `world.py` first. `chronicle.py` receives every change, and checks it by the rules of `invariants.py`. `trace.py`
hashes every message.
"""
