"""The pytest plugin: simulated clusters for a test, a module or a session, and reports of failures.

`simulated_cluster` is a cluster of its own for each test. `shared_simulated_cluster` is that of the session, reset.

Every run of pytest loads it where actorlet is installed, so it imports nothing until a test wants a cluster.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from actorlet.testing import Cluster

MARKER = "simulated_cluster(**options): what the cluster of the test is like; options of actorlet.testing.cluster"
REPORT = "Pods of the simulated cluster that are not Running"
PODS_REPORTED = 20
LINES_REPORTED = 60


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture(scope="session")
def simulated_cluster_options() -> Mapping[str, Any]:
    """Options of every cluster that a fixture starts. Override it; markers go before."""
    return {}


@pytest.fixture
def simulated_cluster(
    request: pytest.FixtureRequest, simulated_cluster_options: Mapping[str, Any]
) -> Iterator[Cluster]:
    """A simulated cluster (`actorlet.testing.Cluster`); the marker of the same name has its options."""
    yield from _begun(request, simulated_cluster_options)


@pytest.fixture(scope="module")
def simulated_cluster_of_module(
    request: pytest.FixtureRequest, simulated_cluster_options: Mapping[str, Any]
) -> Iterator[Cluster]:
    """One for all tests of a module; a marker in `pytestmark` has its options."""
    yield from _begun(request, simulated_cluster_options)


@pytest.fixture(scope="session")
def simulated_cluster_of_session(
    request: pytest.FixtureRequest, simulated_cluster_options: Mapping[str, Any]
) -> Iterator[Cluster]:
    """One for all tests."""
    yield from _begun(request, simulated_cluster_options)


@pytest.fixture
def shared_simulated_cluster(simulated_cluster_of_session: Cluster) -> Cluster:
    """The cluster of the session, reset before each test."""
    simulated_cluster_of_session.reset()
    return simulated_cluster_of_session


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failure which programs have ended and which pods were not Running, and why."""
    report = yield
    testing = sys.modules.get("actorlet.testing")
    add = getattr(report.longrepr, "addsection", None)
    if testing is None or add is None or report.when != "call" or not report.failed:
        return report
    clusters = (each for each in getattr(item, "funcargs", {}).values() if isinstance(each, testing.Cluster))
    for found in {id(each): each for each in clusters}.values():  # two fixtures may give one cluster
        lines = _troubles(found)
        if lines:
            more = [f"and {len(lines) - PODS_REPORTED} more"] if len(lines) > PODS_REPORTED else []
            add(REPORT, "\n".join([*lines[:PODS_REPORTED], *more]))
        for name, said in _outputs(found).items():
            add(f"The last lines of {name}", "\n".join(said[-LINES_REPORTED:]))
    return report


def _troubles(found: Cluster) -> tuple[str, ...]:
    from actorlet.testing import ClusterError

    try:
        return found.troubles()
    except ClusterError as error:
        return (str(error),)


def _outputs(found: Cluster) -> Mapping[str, Sequence[str]]:
    """What the operators that the test has run said last."""
    from actorlet.testing import ClusterError

    try:
        return found.outputs()
    except ClusterError:
        return {}


def _begun(request: pytest.FixtureRequest, options: Mapping[str, Any]) -> Iterator[Cluster]:
    from actorlet.testing import ClusterError, cluster

    refused = ""
    try:
        begun = cluster(**{**options, **options_of(request.node.get_closest_marker("simulated_cluster"))})
    except (pytest.UsageError, ClusterError) as error:
        refused = str(error)
    if refused:  # not within the `except`, or pytest would show the error twice
        pytest.fail(refused, pytrace=False)
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
