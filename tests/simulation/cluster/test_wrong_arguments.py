"""A test that asks for an impossible cluster gets one sentence, and no traceback of our code."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
PLUGIN = "actorlet.pytest_plugin"


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        ("node=3", "the marker simulated_cluster has no option node; did you mean nodes?"),
        ("colour='red'", "the marker simulated_cluster has no option colour; it has nodes, time,"),
        ("3", "the marker simulated_cluster takes options by name, as nodes=3, and got (3,)"),
        ("nodes=0", "nodes=0 is refused: a cluster has 1 to 1000 nodes"),
    ],
)
def test_a_wrong_marker_fails_the_test_with_one_sentence(tmp_path: Path, marker: str, told: str):
    text = f"import pytest\n@pytest.mark.simulated_cluster({marker})\ndef test_it(simulated_cluster): pass\n"
    (tmp_path / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "test_it.py"]
    if not any(entry.value == PLUGIN for entry in entry_points(group="pytest11")):
        command += ["-p", PLUGIN]  # this is a tree that is not installed
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 1
    assert ran.stdout.partition("short test summary")[0].count(told) == 1
    assert ".py:" not in ran.stdout.partition("short test summary")[0]
