"""Worlds that are checked and stopped after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.actors.node.status.worlds import World


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        assert world.fails or world.system.report().dead_letters == 0
        assert world.system.stop()


@pytest.fixture
def world(worlds: list[World]) -> World:
    worlds.append(World())
    return worlds[-1]
