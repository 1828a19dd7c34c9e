"""RBAC as Kubernetes has it, without a server: what roles and bindings allow.

Open `rules.py` first: it judges one request, and finds what a role grants beyond the rules of its author. `roles.py`
finds the rules of a user among roles and bindings. `defaults.py` makes the objects of a new cluster. Objects and rules
are JSON builtins, as the API has them. `simulation.apiserver.access` is their user.
"""
