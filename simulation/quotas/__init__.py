"""How much of its resources a namespace may use: limits of objects, and quotas of all together. Pure.

Objects are JSON builtins. Open `limits.py` for LimitRanges, and `quota.py` for ResourceQuotas. They know no server:
plugins of admission (`apiserver.admission`) ask them.
"""
