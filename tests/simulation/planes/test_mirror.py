"""The kit's copy of a server, and the kit's changes on their way to it.

The embedded API server plays the real one, over HTTPS and with certificates, so nothing here needs a program.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from actors.kernel import SimulatedDispatcher
from runtime.io.event_loop import LoopThread
from simulation.apiserver.core import Options
from simulation.apiserver.front.http_front import HttpFront
from simulation.apiserver.front.tls import Authority
from simulation.apiserver.requests.bodies import MERGE
from simulation.apiserver.requests.calls import ADMIN
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store.selection import EVERYTHING
from simulation.cluster.running_cluster import wall_ns
from simulation.controllers.device_slices import DeviceSlices
from simulation.controllers.store_follower import ask
from simulation.planes.mirror import FOLLOWED, FOR_DRIVERS, Mirror, named_in
from simulation.planes.remote import Remote, RemoteError, access_of

T = TypeVar("T")
WAIT = 120
PODS = "/api/v1/namespaces/default/pods"
NODE = "/api/v1/nodes/n1"
SLICES = "resourceslices.resource.k8s.io"


class Both:
    """A real server, and the copy of it."""

    def __init__(self, real: ApiServer, copy: Mirror, remote: Remote) -> None:
        self.real = real
        self.copy = copy
        self.remote = remote
        self._changed = asyncio.Event()
        for server in (real, copy):
            for key in ("pods", "nodes", SLICES):
                server.store.watch(key, "", EVERYTHING, None).start(self._seen, lambda _: None)

    def _seen(self, *_: object) -> None:
        asyncio.get_running_loop().call_soon(self._changed.set)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()


def stored(server: ApiServer, name: str) -> dict[str, Any] | None:
    found = server.store.get("pods", "default", name)
    return None if found is None else found.object


def node_of(server: ApiServer, name: str) -> str:
    return str((stored(server, name) or {"spec": {}})["spec"].get("nodeName", ""))


def pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "app", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def binding(name: str, node: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}


@contextlib.asynccontextmanager
async def both(directory: Path, *pods: str) -> AsyncIterator[Both]:
    clock = SimulatedDispatcher(1)
    authority, real = Authority(wall_ns()), ApiServer(clock, Options(authorization="RBAC"))
    for name in pods:
        assert not ask(real, ADMIN, "POST", PODS, pod(name))
    front = HttpFront(real, LoopThread(), tls=authority.server_context(directory))
    await front.serve()
    remote = Remote(access_of(front.url, authority.certificate, authority.for_client("admin", "system:masters")))
    copy = Mirror(SimulatedDispatcher(2), Options(), remote, {**FOLLOWED, **FOR_DRIVERS})
    await copy.begin()
    try:
        yield Both(real, copy, remote)
    finally:
        await copy.end()
        await remote.close()
        await front.end()


def waited(doing: Awaitable[T]) -> T:
    async def run() -> T:
        async with asyncio.timeout(WAIT):
            return await doing

    return asyncio.run(run())


def test_the_copy_begins_with_all_and_follows_each_change(tmp_path: Path):
    async def run() -> None:
        async with both(tmp_path, "a", "b") as found:
            real, copy = found.real, found.copy
            assert {version.name for version in copy.store.of["pods"].all()} == {"a", "b"}
            assert (stored(copy, "a") or {})["metadata"]["uid"] == (stored(real, "a") or {})["metadata"]["uid"]
            ask(real, ADMIN, "POST", PODS, pod("c"))
            ask(real, ADMIN, "PATCH", f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}}, MERGE)
            ask(real, ADMIN, "DELETE", f"{PODS}/b", {})
            await found.until(lambda: stored(copy, "c") is not None and stored(copy, "b") is None)
            await found.until(lambda: (stored(copy, "a") or {})["metadata"].get("labels") == {"x": "y"})

    waited(run())


def test_what_the_kit_does_is_in_the_copy_at_once_and_soon_in_the_server(tmp_path: Path):
    async def run() -> None:
        async with both(tmp_path, "a") as found:
            assert not ask(found.copy, ADMIN, "POST", f"{PODS}/a/binding", binding("a", "n1"))
            assert node_of(found.copy, "a") == "n1"
            assert node_of(found.real, "a") == ""
            await found.until(lambda: node_of(found.real, "a") == "n1")

    waited(run())


def test_an_object_of_the_kit_becomes_that_of_the_server(tmp_path: Path):
    async def run() -> None:
        async with both(tmp_path) as found:
            ask(found.copy, ADMIN, "POST", PODS, pod("made"))
            own = (stored(found.copy, "made") or {})["metadata"]["uid"]
            await found.until(lambda: (stored(found.copy, "made") or {})["metadata"]["uid"] != own)
            assert (stored(found.copy, "made") or {})["metadata"]["uid"] == (
                (stored(found.real, "made") or {})["metadata"]["uid"]
            )

    waited(run())


def test_what_the_server_refuses_is_undone_in_the_copy(tmp_path: Path):
    async def run() -> None:
        async with both(tmp_path, "a") as found:
            found.copy.store.put("pods", {**pod("b"), "metadata": {"name": "b", "namespace": "default", "uid": "u"}})
            assert not ask(found.copy, ADMIN, "POST", f"{PODS}/b/binding", binding("b", "n1"))
            await found.until(lambda: stored(found.copy, "b") is None)
            assert stored(found.copy, "a") is not None

    waited(run())


def test_a_precondition_on_the_version_of_the_copy_holds_for_the_server(tmp_path: Path):
    async def run() -> None:
        async with both(tmp_path) as found:
            ask(found.real, ADMIN, "POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
            await found.until(lambda: bool(node(found.copy)))
            taints = [{"key": "k", "effect": "NoSchedule"}]
            assert not ask(found.copy, ADMIN, "PATCH", NODE, change_of_copy(found, taints=taints), MERGE)
            await found.until(lambda: node(found.real)["spec"].get("taints") == taints)
            # Another writer was quicker: the server refuses, and the copy gets what that one wrote.
            ask(found.real, ADMIN, "PATCH", NODE, {"spec": {"taints": []}}, MERGE)
            assert not ask(found.copy, ADMIN, "PATCH", NODE, change_of_copy(found, unschedulable=True), MERGE)
            await found.until(lambda: not node(found.copy)["spec"].get("unschedulable"))
            assert not node(found.copy)["spec"].get("taints")
            assert not node(found.real)["spec"].get("unschedulable")

    waited(run())


def change_of_copy(found: Both, **spec: Any) -> dict[str, Any]:
    """A change of the node that holds for the version in the copy only."""
    return {"metadata": {"resourceVersion": node(found.copy)["metadata"]["resourceVersion"]}, "spec": spec}


def node(server: ApiServer) -> dict[str, Any]:
    """Empty as long as there is none."""
    found = server.store.get("nodes", "", "n1")
    return {} if found is None else found.object


def test_a_refusal_of_the_server_is_an_error_with_its_words(tmp_path: Path):
    async def run() -> None:
        async with both(tmp_path) as found:
            with pytest.raises(RemoteError, match='pods "nobody" not found') as refusal:
                await found.remote.ask("GET", f"{PODS}/nobody")
            assert refusal.value.code == 404

    waited(run())


@pytest.mark.parametrize(
    ("path", "named"),
    [
        (NODE, ("nodes", "", "n1")),
        (f"{PODS}/a/binding", ("pods", "default", "a")),
        (PODS, ("pods", "default", "")),
        ("/api/v1/namespaces/default", ("namespaces", "", "default")),
        ("/apis/resource.k8s.io/v1/resourceslices/s", (SLICES, "", "s")),
        ("/apis/coordination.k8s.io/v1/namespaces/x/leases/l", ("leases.coordination.k8s.io", "x", "l")),
    ],
)
def test_a_path_names_the_object_whose_version_is_exchanged(path: str, named: tuple[str, str, str]):
    assert named_in(path) == named


def test_what_drivers_offer_is_written_to_the_server_and_again_when_an_agent_deletes_it(tmp_path: Path):
    async def run() -> None:
        async with both(tmp_path) as found:
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
            assert not ask(found.real, ADMIN, "POST", "/api/v1/nodes", node)
            await found.until(lambda: found.copy.store.get("nodes", "", "n1") is not None)
            clock = SimulatedDispatcher(3)
            drivers = DeviceSlices(found.copy, clock)
            drivers.offer("n1", "gpu.vendor.example", [{"name": "device-0"}])
            drivers.start()

            def real() -> list[str]:
                return [version.name for version in found.real.store.of[SLICES].all()]

            await found.until(lambda: len(real()) == 1)
            (name,) = real()
            theirs = found.real.store.get(SLICES, "", name)
            assert theirs is not None
            await found.until(lambda: (found.copy.store.get(SLICES, "", name) or theirs).uid == theirs.uid)
            assert not ask(found.real, ADMIN, "DELETE", f"/apis/resource.k8s.io/v1/resourceslices/{name}", {})
            await found.until(lambda: found.copy.store.get(SLICES, "", name) is None)
            clock.run_for(2 * 10**9)
            await found.until(lambda: real() == [name])

    waited(run())
