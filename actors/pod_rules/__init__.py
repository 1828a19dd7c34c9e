"""What to do next for a pod: its lifecycle, its containers, its restarts. Pure.

Open `actions.py` first: `compute_pod_actions` says what to do, from the pod and from what was observed, and when a
container that failed starts again. `lifecycle.py` and `container_start.py` are state tables. `termination.py` says how
containers end.
"""
