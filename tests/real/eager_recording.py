"""`actorlet` whose recorded actors start over after seconds, and a few KiB.

    python -m tests.real.eager_recording run --record DIR ...

`ACTORLET_EAGER_KIB` is how much, with the smallest record.
"""

from __future__ import annotations

import os
import sys

from actors.node import recording as recorder
from cli.main import main
from cli.run import recording
from runtime.records.ring import SIZE_AT_LEAST_BYTES

APART_NS = 5_000_000_000
EAGER_KIB = int(os.environ.get("ACTORLET_EAGER_KIB") or 64)

if __name__ == "__main__":
    recording.APART_NS = APART_NS
    recorder.RUNS_IN_A_RING = (SIZE_AT_LEAST_BYTES >> 10) // EAGER_KIB
    sys.exit(main())
