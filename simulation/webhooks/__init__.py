"""Admission webhooks as Kubernetes calls them, without a server.

`matching.py` finds those that a request concerns, `reviews.py` writes what they are asked and reads what they answer,
`caller.py` asks them over HTTPS. Objects are JSON builtins. `simulation.apiserver.admission` says when.
"""
