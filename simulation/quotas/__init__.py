"""How much of its resources a namespace may use: limits of objects, and quotas of all together. Pure.

Objects are JSON builtins. Open `limits.py` for LimitRanges. It knows no server: plugins of admission
(`apiserver.admission`) ask it.
"""
