"""Whether a pod may be created: what an API server would refuse. Pure.

Open `pod.py` first: it calls the rules for containers, volumes, resources and security. Each fault has its path, the
reason and a hint.
"""
