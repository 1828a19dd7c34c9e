"""Drivers for dynamic resource allocation: who makes the devices of claims ready (spec 10.12).

Open `capability.py`: what a driver is asked, and what it says. `client.py` asks the one at a socket; `registered.py`
knows which drivers are registered, and `drivers.py` makes those over gRPC.
"""
