"""Kinds of objects that need code; all others are data in `resources`. `rules` has the generic rules.

Open `rules.py` first; `pods.py` is the richest kind.
"""

from __future__ import annotations
