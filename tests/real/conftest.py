"""Tests on a real containerd.

Needed: root, and on the machine containerd, runc, static busybox, the CNI plugins, docker-registry, iproute2 and
iptables (`tests.real.components` has the packages). When one is missing every test here fails with a sentence that
names it: a test that silently does not run proves nothing.

One containerd and one registry serve a whole session; every test that asks for `cri` finds no pods and leaves none.
What the containerd of Debian 12 cannot is shown on a newer one: `newer_containerd`, `newer_truth`, `newer_agent`.
What takes long by itself (`crash_loop`) begins with the session, and the tests that look at it come last.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from actors.node.kernel_tunables import WANTED
from runtime.cri.client import GrpcCri
from runtime.host.kernel_parameters import LocalKernelParameters
from runtime.io.event_loop import LoopThread
from tests.real import images as made
from tests.real.agent import Agent
from tests.real.cluster import Cluster, cluster_for
from tests.real.components import complaint
from tests.real.containerd import Containerd
from tests.real.crash_loop import CrashLoop
from tests.real.newer_runtime import CONTAINERD_2, NewerRuntime
from tests.real.pods import Truth
from tests.real.registry import Registry
from tests.real.system_bus import PrivateBus

_LONGEST = ("test_sigkill_under_churn.py", "test_container_image.py")
"""Files that begin first: minutes for one test, for which the other workers would wait in the end."""
_KERNEL = LocalKernelParameters()
_AS_FOUND = pytest.StashKey[dict[str, int]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Agents set the kernel of their node.

    The first process of a session, not each worker, notes how it was.
    """
    if not hasattr(session.config, "workerinput"):
        found = {name: _KERNEL.get(name) for name, _ in WANTED}
        session.config.stash[_AS_FOUND] = {name: value for name, value in found.items() if value is not None}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The machine is left as it was found."""
    for name, value in session.config.stash.get(_AS_FOUND, {}).items():
        if _KERNEL.get(name) != value:
            _KERNEL.set(name, value)


@pytest.fixture
def after() -> Iterator[ExitStack]:
    """What a test wants to be undone at its end."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="session")
def containerd() -> Iterator[Containerd]:
    """A private containerd with the images of `tests.real.images`: socket, `ctr`, `kill`, `start`, logs."""
    why = complaint()
    if why is not None:
        pytest.fail(why, pytrace=False)
    private = Containerd()
    try:
        private.start()
        private.load([made.build(recipe) for recipe in made.RECIPES])
        yield private
    finally:
        private.stop()


@pytest.fixture(scope="session")
def registry(containerd: Containerd) -> Iterator[Registry]:
    """A registry on loopback that containerd knows as `registry.test`."""
    serving = Registry(containerd.directory / "registry")
    try:
        containerd.mirror("registry.test", serving.address)
        yield serving
    finally:
        serving.stop()


@pytest.fixture
def cri(containerd: Containerd) -> Iterator[GrpcCri]:
    """A client of the private containerd, without pods before and after."""
    if not containerd.alive:
        containerd.start()
    containerd.remove_pods()
    with containerd.connect() as client:
        yield client
    if not containerd.alive:
        containerd.start()
    containerd.remove_pods()


@pytest.fixture
def truth(cri: GrpcCri) -> Truth:
    """What the runtime of this test runs."""
    return Truth(cri)


@pytest.fixture
def agent(cri: GrpcCri, containerd: Containerd) -> Iterator[Agent]:
    """An agent for one test, not started: `start`, `drop`, `kill`.

    It has the private containerd to itself.
    """
    directory = Path(tempfile.mkdtemp(prefix="agent-", dir=containerd.directory))
    made = Agent(directory, containerd.endpoint)
    yield made
    made.take_down()


@pytest.fixture(scope="module")
def shared_cri(containerd: Containerd) -> Iterator[GrpcCri]:
    """As `cri`, for all tests of a file."""
    if not containerd.alive:
        containerd.start()
    containerd.remove_pods()
    with containerd.connect() as client:
        yield client
    containerd.remove_pods()


@pytest.fixture(scope="module")
def shared_truth(shared_cri: GrpcCri) -> Truth:
    return Truth(shared_cri)


@pytest.fixture(scope="module")
def shared_agent(shared_cri: GrpcCri, containerd: Containerd) -> Iterator[Agent]:
    """One agent for all tests of a file, not started; each has pods of its own names, and leaves them.

    In such a file nobody may ask for `agent`, `truth` or `cri`: two agents would end each other's pods.
    """
    directory = Path(tempfile.mkdtemp(prefix="agent-", dir=containerd.directory))
    made = Agent(directory, containerd.endpoint)
    yield made
    made.take_down()


@pytest.fixture
def cluster(agent: Agent) -> Iterator[Cluster]:
    """An API server for the agent of this test, which `join` starts as its node."""
    with cluster_for(agent) as served:
        yield served


@pytest.fixture(scope="session")
def newer_containerd(request: pytest.FixtureRequest) -> Iterator[Containerd]:
    """A private containerd of `tests.real.newer_runtime`, with the same images.

    It is containerd 2, or what a test asks for.
    """
    newer: NewerRuntime = getattr(request, "param", CONTAINERD_2)
    why = complaint() or newer.complaint()
    if why is not None:
        pytest.fail(why, pytrace=False)
    private = Containerd(newer.programs)
    try:
        private.start()
        private.load([made.build(recipe) for recipe in made.RECIPES])
        yield private
    finally:
        private.stop()


@pytest.fixture
def newer_cri(newer_containerd: Containerd) -> Iterator[GrpcCri]:
    """A client of it, without pods before and after."""
    newer_containerd.remove_pods()
    with newer_containerd.connect() as client:
        yield client
    newer_containerd.remove_pods()


@pytest.fixture
def newer_truth(newer_cri: GrpcCri) -> Truth:
    """What the newer containerd runs."""
    return Truth(newer_cri)


@pytest.fixture
def newer_agent(newer_cri: GrpcCri, newer_containerd: Containerd) -> Iterator[Agent]:
    """An agent for one test on it, not started."""
    directory = Path(tempfile.mkdtemp(prefix="agent-", dir=newer_containerd.directory))
    made = Agent(directory, newer_containerd.endpoint)
    yield made
    made.take_down()


@pytest.fixture(scope="session")
def crash_loop() -> Iterator[CrashLoop]:
    """A pod that crashes since the session began."""
    why = complaint()
    if why is not None:
        pytest.fail(why, pytrace=False)
    looping = CrashLoop()
    yield looping
    looping.take_down()


@pytest.fixture(scope="session", autouse=True)
def _begun(request: pytest.FixtureRequest) -> None:
    """Begin what takes long, if a test of this session needs it."""
    if any("crash_loop" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("crash_loop")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what works longest first and what waits for the crash loop last.

    Mark what needs the newer containerd.
    """
    for item in items:
        if "newer_containerd" in getattr(item, "fixturenames", ()):
            item.add_marker("newer_runtime")
    items.sort(key=lambda item: ("crash_loop" in getattr(item, "fixturenames", ()), item.path.name not in _LONGEST))


@pytest.fixture
def bus() -> Iterator[PrivateBus]:
    """A D-Bus of its own."""
    why = complaint()
    if why is not None:
        pytest.fail(why, pytrace=False)
    with PrivateBus() as private:
        yield private


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    thread = LoopThread("bus")
    yield thread
    thread.close()
