"""The machine: its hardware, its network, and the settings of its kernel.

Open `facts.py` first: it is the capability `HostFacts`. `topology.py` is the layout of CPUs and memory.
`start_facts.py` has the facts that an agent checks before it starts (spec 10.1).
"""
