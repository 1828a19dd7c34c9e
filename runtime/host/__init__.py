"""The machine: what it is, what its network is, and what may be set in its kernel.

Open `facts.py` first: it is the capability `HostFacts`. `start_facts.py` is what an agent checks before it starts
(spec 10.1).
"""
