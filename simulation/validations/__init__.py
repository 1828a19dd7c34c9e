"""Rules in CEL that the definitions of custom resources have (`x-kubernetes-validations`).

`rules.py` finds the rules of a value, and shows the value as CEL sees it. `program.py` has them evaluated in a process
of its own, `child.py`, so that no rule can hang or fill the server. The library for CEL is optional.
"""
