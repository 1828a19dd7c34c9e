"""The pytest plugin: the fixture `simulated_cluster`.

Each test that asks for it gets a cluster of its own.

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
    from actorlet.testing import ClusterError, cluster

    try:
        begun = cluster(**options_of(request.node.get_closest_marker("simulated_cluster")))
    except (pytest.UsageError, ClusterError) as error:
        pytest.fail(str(error), pytrace=False)
    with begun as found:
        yield found


def options_of(marker: pytest.Mark | None) -> Mapping[str, Any]:
    """The options of the marker.

    Raises UsageError for one without a name, and for one that no cluster has.
    """
    if marker is None:
        return {}
    if marker.args:
        raise pytest.UsageError(
            f"the marker simulated_cluster takes options by name, as nodes=3, and got {marker.args}"
        )
    if marker.kwargs:
        import difflib
        import inspect

        from actorlet.testing import cluster

        known = list(inspect.signature(cluster).parameters)
        for name in marker.kwargs:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
                raise pytest.UsageError(f"the marker simulated_cluster has no option {name}; {hint}")
    return marker.kwargs
