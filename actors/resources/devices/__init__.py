"""Devices of plugins: which ones a pod gets, and the checkpoint of a kubelet (spec 10.11). Pure.

Open `choosing.py`: it serves one container after the other. `near.py` has the hints of NUMA nodes.
"""
