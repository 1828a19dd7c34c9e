"""What a seed draws: chance itself, the network, and faults of single calls.

Open `chance.py` first: one small stream of numbers per concern. `call_faults.py` draws what happens to a call,
`network.py` how long a message takes. `sometimes.py` counts the rare states that were reached.
"""
