"""Eviction: which pods end when the node runs short, and when (spec 7).

Open `manager.py` first: `EvictionActor` samples, publishes pressure, and ends one pod per observation. The rules are
pure. `thresholds.py` reads the configuration, `pressure.py` follows the signals, `reclaim.py` says what to free first.
`ranking.py` and `choice.py` choose the victim; `local_limits.py` finds pods over their own disk limits.
"""
