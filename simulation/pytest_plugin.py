"""The pytest plugin: `simulated_cluster`, a cluster of its own for each test that asks for it.

Loaded by every run of pytest where actorlet is installed; so it imports nothing before a test wants a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

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

    with cluster(**options_of(request.node.get_closest_marker("simulated_cluster"))) as found:
        yield found


def options_of(marker: pytest.Mark | None) -> Mapping[str, Any]:
    """What the marker asks for. Raises UsageError where an option has no name: it would be passed over."""
    if marker is None:
        return {}
    if marker.args:
        raise pytest.UsageError(
            f"the marker simulated_cluster takes options by name, as nodes=3, and got {marker.args}"
        )
    return marker.kwargs
