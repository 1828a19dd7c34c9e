"""A seed decides the life of a whole node, in this process and in another.

The hashes of strings differ there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.simulation.node.story import story

REPOSITORY = Path(__file__).parents[3]


def told_elsewhere(seed: int, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "tests.simulation.node.story", str(seed)]
    ran = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.removesuffix("\n")


def test_one_seed_is_one_story_and_another_is_another():
    assert story(1) == story(1)
    assert story(1) != story(2)


def test_the_story_does_not_depend_on_the_hashes_of_strings():
    here = story(3)
    assert here.count("\n") > 200
    for hash_seed in ("0", "1", "4242"):
        there = told_elsewhere(3, hash_seed)
        assert there == here
