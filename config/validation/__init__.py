"""The checks of an API server before it creates a pod. Pure.

Open `pod.py` first: it calls the rules for containers, volumes, resources and security. Each fault has its path, the
reason and a hint.
"""
