"""Sample manifests: what `actorlet up` runs when it is told nothing, and one directory deeper, what goes wrong nicely.

`DIRECTORY` can be given to a file source as it is. Since directories are not descended, `TROUBLED` takes no part then.
"""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path(__file__).parent
TROUBLED = DIRECTORY / "troubled"
