"""What a kind of object needs code for; all else is data in `resources`. `rules` has the generic rules.

Open `rules.py` first; `pods.py` is the richest kind.
"""

from __future__ import annotations
