"""Worlds that are stopped after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.actors.sync.worlds import World


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        world.told.obey = True
        assert world.system.stop()


@pytest.fixture
def world(worlds: list[World]) -> World:
    worlds.append(World())
    return worlds[0]
