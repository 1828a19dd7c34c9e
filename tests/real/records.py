"""Records of agents, played by a process that has nothing in common with the agent but the code."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from actorlet._process import command
from tests.real.waiting import BUSY

AS_RECORDED = "all is as recorded, to the last call and message"
FAILED = "Traceback"
"""What an agent prints when an actor fails."""
KILLED = "the record ends there: the agent was killed"


def replayed_elsewhere(record: Path, place: Path) -> subprocess.CompletedProcess[str]:
    """What a process says of a copy of the record that has nothing in common with the agent but the code.

    Its hashes are seeded anew, since it ignores the environment as all of actorlet's own processes do.
    """
    copy = shutil.copytree(record, place / "brought-here")
    elsewhere = {"PATH": os.defpath, "HOME": str(place), "TZ": "Asia/Kolkata", "LC_ALL": "C"}
    return subprocess.run(
        command("cli.main", "replay", str(copy)),
        cwd=place,
        env=elsewhere,
        capture_output=True,
        text=True,
        timeout=600 * BUSY,
        check=False,
    )
