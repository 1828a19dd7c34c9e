"""Random decisions of a seed: chance itself, the network, and faults of single calls.

Open `chance.py` first: one small stream of numbers per concern. `call_faults.py` draws the faults of a call,
`network.py` the delay of a message. `faulty_way.py` is the way to an API server with both. `sometimes.py` counts the
rare states that a run reached.
"""
