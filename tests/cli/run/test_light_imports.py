"""The agent carries no library that most nodes never use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PATIENCE_S = 120
HEAVY = ("cryptography", "h2", "psutil")
"""For certificates, gRPC probes, and the addresses of the machine."""


def test_the_agent_imports_heavy_libraries_when_it_needs_them() -> None:
    code = f"import sys, cli.run.command; print(sorted(set({HEAVY}) & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout == "[]\n", done.stderr
