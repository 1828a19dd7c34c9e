"""Give each test a status manager whose pods and API server are played by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.actors.status.written_pods import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.system.stop()
