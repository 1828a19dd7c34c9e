"""`actorlet pods`, `explain` and `actors`: a look into a running agent.

Open `local_views.py` first: what the agent shows at its socket. `explanation.py` tells why a pod is as it is.
"""
