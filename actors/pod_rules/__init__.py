"""Decides the next actions for a pod: its lifecycle, its containers, its restarts. Pure.

Open `actions.py` first: `compute_pod_actions` decides the actions from the desired and the observed pod, and when a
failed container starts again. `lifecycle.py` and `container_start.py` are state tables. `termination.py` says how
containers end.
"""
