"""The examples of docs/how-to/testing-with-actorlet.md run as they stand.

They are files of a user in a directory of their own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
PAGE = REPOSITORY / "docs" / "how-to" / "testing-with-actorlet.md"
PLUGIN = "actorlet.pytest_plugin"
_BLOCK = re.compile(r"```python\n# (test_[a-z_]+\.py)\n(.*?)```", re.DOTALL)


def examples() -> dict[str, str]:
    """Name of the file -> its text."""
    return dict(_BLOCK.findall(PAGE.read_text(encoding="utf-8")))


def test_the_first_example_is_ten_lines_and_every_block_of_python_is_one():
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("```python") == len(examples())
    assert len(examples()["test_restarts.py"].strip().splitlines()) <= 10


def test_the_examples_run_as_they_stand(tmp_path: Path):
    for name, text in examples().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "."]
    if not any(entry.value == PLUGIN for entry in entry_points(group="pytest11")):
        command += ["-p", PLUGIN]  # this is a tree that is not installed
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    path = os.pathsep.join(filter(None, (str(REPOSITORY), environment.get("PYTHONPATH"))))
    ran = subprocess.run(
        command,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{sum(text.count('def test_') for text in examples().values())} passed" in ran.stdout
