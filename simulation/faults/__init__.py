"""Faults that are laid over a node: actors that fail or stand still, mailboxes that overflow, shortages.

Open `failing.py` first. Which faults a scenario wants is in `simulation/scenarios/faults.py`; when they come is in
`simulation/play/fault_injection.py`.
"""
