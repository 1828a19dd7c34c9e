"""Facts that depend on the pod alone: its identity, its defaults, its requests. Pure.

Open `identity.py` first. `defaults.py` fills in defaults as the API server does. `requests.py` adds up the resource
requests. `once_per_spec.py` caches results by spec.
"""
