"""One cluster for the tests that leave its node alone, and one of its own for each that does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubectl.cluster import Kubectl, World, missing, world


@pytest.fixture(scope="session")
def shared_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    complaint = missing()
    if complaint is not None:
        pytest.fail(complaint)
    with world(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def kubectl(shared_world: World) -> Kubectl:
    """In a namespace that nobody else uses."""
    return shared_world.kubectl()


@pytest.fixture
def own_kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    """On a cluster that nobody else uses."""
    with world(tmp_path) as found:
        yield found.kubectl()
