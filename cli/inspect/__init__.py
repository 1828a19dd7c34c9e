"""`actorlet pods`, `explain` and `actors`: views of a running agent.

Open `local_views.py` first: what the agent serves at its socket. `explanation.py` says why a pod is in its state.
"""
