"""What follows from a pod alone: its identity, its defaults, what it asks for. Pure.

Open `identity.py` first. `defaults.py` fills in what the API server would, `requests.py` adds up what a pod asks of
its node, `once_per_spec.py` remembers what follows from a spec.
"""
