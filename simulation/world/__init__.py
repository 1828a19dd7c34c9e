"""One world: an API server, a scheduler, nodes, one clock, and what must hold of it.

Open `world.py` first. `chronicle.py` hears of every change and has the rules of `invariants.py` judge it. `trace.py`
hashes every message.
"""
