"""Admission webhooks as Kubernetes calls them, without a server.

`matching.py` finds the webhooks for a request, `reviews.py` writes reviews and reads their answers, `caller.py` sends
them over HTTPS. Objects are JSON builtins. `simulation.apiserver.admission.webhooks` decides when to ask.
"""
