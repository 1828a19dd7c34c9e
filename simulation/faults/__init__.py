"""Faults of a node's agent: actors that fail or freeze, mailboxes that overflow, shortages.

Open `failing.py` first. `simulation/scenarios/faults.py` has the faults of a scenario;
`simulation/play/fault_injection.py` decides when they happen.
"""
