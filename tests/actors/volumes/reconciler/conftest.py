"""A world that is stopped after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.actors.volumes.reconciler.worlds import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()
