"""Sample manifests: `actorlet up` runs them by default.

One directory deeper are pods with instructive failures.

`DIRECTORY` can be given to a file source. A file source does not descend, so it ignores the pods of `TROUBLED`.
"""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path(__file__).parent
TROUBLED = DIRECTORY / "troubled"
