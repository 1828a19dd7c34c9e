"""A whole simulated node and the API server that it has joined, in virtual time."""

from __future__ import annotations

import pytest

from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import SECOND


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.run(5 * SECOND)
    return cluster
