"""The Pod Security Standards: what pods of a level may not do, and which level a namespace has. Pure.

Open `levels.py` for labels of namespaces, and `checks.py` for the table of rules. Objects are JSON builtins.
"""
