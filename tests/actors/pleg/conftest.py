"""Give each test a `PlegActor` whose runtime is played by hand, with events or without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.actors.pleg.hand_played import World


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        assert world.system.stop()


@pytest.fixture
def world(worlds: list[World]) -> World:
    worlds.append(World())
    return worlds[-1].start()


@pytest.fixture
def without_events(worlds: list[World]) -> World:
    worlds.append(World(serves_events=False))
    return worlds[-1].start()
