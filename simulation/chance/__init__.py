"""Random decisions of a seed: chance itself, the network, and faults of single calls.

Open `chance.py` first: one small stream of numbers per concern. `call_faults.py` draws the faults of a call,
`network.py` the delay of a message. `sometimes.py` counts the rare states that a run reached.
"""
