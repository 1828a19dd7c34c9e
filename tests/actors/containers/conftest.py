"""Give each test a container collector with a runtime and logs in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.actors.containers.dead_containers import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()
