"""Scenarios: what a world is to live through, as YAML, and the library of them.

Open `scenario.py` first: the format as structs. `pods.py` and `faults.py` are its parts. The library lies here, one
YAML file each, with the JSON schema of the format.
"""
