"""The examples in Python run as they stand, each copied to a directory of its own.

`tox -e languages` and `tox -e client-go` run the others.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
EXAMPLES = REPOSITORY / "examples"
OF_OTHER_LANGUAGES = {"client-node", "client-go"}
PLUGIN = "actorlet.pytest_plugin"
PATIENCE_S = 300


@pytest.mark.parametrize("name", ["kopf", "kr8s", "kubernetes", "lightkube"])
def test_the_example_passes(name: str, tmp_path: Path):
    shutil.copytree(EXAMPLES / name, tmp_path / name)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "."]
    if not any(entry.value == PLUGIN for entry in entry_points(group="pytest11")):
        command += ["-p", PLUGIN]  # this is a tree that is not installed
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    path = os.pathsep.join(filter(None, (str(REPOSITORY), environment.get("PYTHONPATH"))))
    ran = subprocess.run(
        command,
        cwd=tmp_path / name,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout


RECORDS = {"night"}
"""No program: the record of a tutorial, which `tests/docs` plays."""


def test_every_example_is_listed_and_run():
    folders = {each.name for each in EXAMPLES.iterdir() if each.is_dir() and not each.name.startswith((".", "__"))}
    assert folders == {"kopf", "kr8s", "kubernetes", "lightkube"} | OF_OTHER_LANGUAGES | RECORDS
    listed = (EXAMPLES / "README.md").read_text()
    assert all(f"| `{each}/` |" in listed for each in folders - RECORDS)
    assert all(f"`{each}/`" in listed for each in RECORDS)
