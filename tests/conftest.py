"""What all tests share: how random examples are drawn.

On a developer's machine each run draws new examples, so that properties are searched for ever. Where `CI` is set a run
draws the same ones every time: whether a change is good must not be decided by luck. What a developer's run finds is
kept as an `@example` in the test, and then holds everywhere.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, database=None, deadline=None)
settings.register_profile("developer", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "developer")
