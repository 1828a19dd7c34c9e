"""The pytest plugin: the fixture `simulated_cluster`, a cluster of its own for each test that asks for it.

Every run of pytest loads it where actorlet is installed, so it imports nothing until a test wants a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from actorlet.testing import Cluster

MARKER = "simulated_cluster(**options): what the cluster of the test is like; options of actorlet.testing.cluster"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def simulated_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A simulated cluster (`actorlet.testing.Cluster`); the marker of the same name has its options."""
    from actorlet.testing import cluster

    with cluster(**options_of(request.node.get_closest_marker("simulated_cluster"))) as found:
        yield found


def options_of(marker: pytest.Mark | None) -> Mapping[str, Any]:
    """The options of the marker. Raises UsageError for one without a name."""
    if marker is None:
        return {}
    if marker.args:
        raise pytest.UsageError(
            f"the marker simulated_cluster takes options by name, as nodes=3, and got {marker.args}"
        )
    return marker.kwargs
