"""A client of the cluster that the tests of a module share; each module has its own fixture `shared`."""

from __future__ import annotations

import pytest

from actorlet.testing import Cluster
from tests.simulation.cluster.plain_client import PlainClient


@pytest.fixture
def api(shared: Cluster) -> PlainClient:
    return PlainClient(shared)
