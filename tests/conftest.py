"""What all tests share: how random examples are drawn, and that no mount outlives the tests.

On a developer's machine each run draws new examples, so that properties are searched for ever. Where `CI` is set a run
draws the same ones every time: whether a change is good must not be decided by luck. What a developer's run finds is
kept as an `@example` in the test, and then holds everywhere.

An agent that a test has killed leaves its directory as a mount, and a directory that is one cannot be removed.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from runtime.volumes.mounts import KernelMounts

settings.register_profile("ci", derandomize=True, database=None, deadline=None)
settings.register_profile("developer", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


@pytest.fixture(scope="session", autouse=True)
def no_mounts_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is mounted in the directories of tests when all have run."""
    yield
    mounts = KernelMounts()
    for point in mounts.below(str(tmp_path_factory.getbasetemp())):
        mounts.unmount(point, detach=True)


@pytest.fixture
def no_collections() -> Iterator[None]:
    """The garbage collector makes no pass of its own during the test: reference counts alone free objects."""
    gc.disable()
    yield
    gc.enable()
