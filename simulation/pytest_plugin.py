"""The pytest plugin: `simulated_cluster`, a cluster of its own for each test that asks for it.

Loaded by every run of pytest where actorlet is installed; so it imports nothing before a test wants a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from simulation.cluster import Cluster

MARKER = "simulated_cluster(**options): what the cluster of the test is like, as in simulation.cluster.cluster"


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marker."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def simulated_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A simulated cluster, as the marker of the same name says; see docs/testing-with-actorlet.md."""
    from simulation.cluster import cluster

    marker = request.node.get_closest_marker("simulated_cluster")
    with cluster(**(marker.kwargs if marker is not None else {})) as found:
        yield found
