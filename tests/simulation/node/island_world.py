"""A cluster whose node is an island: it may lose power, and its API server may go away."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, ClassVar

from actors.kernel.promise import Promise, broken
from config.island import IslandSettings
from runtime.api import ApiCall, ApiError
from runtime.cri.messages import ContainerState
from runtime.state.opaque_file import ISLAND
from simulation.cri.state import ContainerRecord, SandboxRecord
from simulation.node.simulated_node import ROOT
from tests.simulation.node.grants import GrantedApi
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.worlds import IN_A_CLUSTER, SECOND, Fail, container

HOUR = 60 * MINUTE
DAY = 24 * HOUR
AN_HOUR = IslandSettings()
ISLAND_FILE = f"{ROOT}/{ISLAND}"


class RefusingApi(GrantedApi):
    """It answers every call with `refusal`, if there is one."""

    refusal: ApiError | None = None

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Promise[Any]:
        """See `Api.call`."""
        return broken(self.refusal) if self.refusal is not None else super().call(call, timeout_ns=timeout_ns)


class Island(Cluster):
    """See the module. `settings` None: the node is no island."""

    api_class: ClassVar[type[GrantedApi]] = RefusingApi
    api: RefusingApi

    def __init__(self, seed: int = 1, settings: IslandSettings | None = AN_HOUR, **options: Any) -> None:
        super().__init__(seed, island=settings, configuration=IN_A_CLUSTER, **options)
        self.starts: Counter[str] = Counter()
        """Pod -> how many of its containers have ever been started."""
        self._known: set[str] = set()
        self.node.cri.state.on_change = self.changed
        self.run(5 * SECOND)

    def changed(self, record: ContainerRecord) -> None:
        """A container has changed in the runtime."""
        if record.state is ContainerState.CONTAINER_RUNNING and record.id not in self._known:
            self._known.add(record.id)
            self.starts[pod_of(record)] += 1
            self.started(pod_of(record))

    def started(self, pod: str) -> None:
        """A container of this pod has started."""

    # --- what befalls it ----------------------------------------------------------------------------------------------

    def go_away(self, for_ns: int = 30 * DAY) -> None:
        self.api.down(for_ns)

    def come_back(self) -> None:
        """The API server is there again, and all that follows of it has come."""
        self.api.come_back()
        self.run(2 * MINUTE)

    def lose_power(self, for_ns: int = MINUTE) -> None:
        """Off, and on again: the agent begins."""
        self.node.lose_power()
        self.api.hang_up()
        self.run(for_ns)
        self.node.boot()
        self.node.restart_agent()

    def fail(self) -> None:
        """The actor with the memory fails, if it can (`let_fail`), and begins anew."""
        ref = self.node.node.system.find("/node/island")
        assert ref is not None
        ref.tell(Fail())
        self.run(5 * SECOND)

    def forget(self, pod: str) -> None:
        """The runtime forgets all that it had of the pod, dead containers included."""
        state = self.node.cri.state
        for container_record in [each for each in state.containers.values() if pod_of(each) == pod]:
            state.drop_container(container_record)
        for sandbox in [each for each in state.sandboxes.values() if name_of(each) == pod]:
            state.drop_sandbox(sandbox)

    def create_owned(self, name: str, kind: str) -> None:
        """A pod that belongs to an object of that kind."""
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": "owner", "uid": "owner", "controller": True}
        spec = {"nodeName": "node", "automountServiceAccountToken": False, "containers": [container()]}
        body = {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec}
        self.ask("POST", "/api/v1/namespaces/default/pods", body)

    # --- looking ------------------------------------------------------------------------------------------------------

    def live(self) -> list[ContainerRecord]:
        return [each for each in self.node.containers() if each.state is ContainerState.CONTAINER_RUNNING]

    def running(self) -> list[str]:
        """The pods with a running container, by the truth of the runtime."""
        return sorted(set(map(pod_of, self.live())))

    def from_memory(self) -> int:
        """How many pods are desired from memory."""
        state = self.node.node.island()
        assert state is not None
        return len(state.uids)

    def file(self) -> str:
        return bytes(self.node.host.tree.read(ISLAND_FILE)).decode()

    def remembered(self, kind: str = "Pod") -> list[str]:
        """Names of the objects in the file."""
        entries = json.loads(self.file())["objects"]
        return sorted(each["object"]["metadata"]["name"] for each in entries if each["kind"] == kind)


def pod_of(record: ContainerRecord) -> str:
    return name_of(record.sandbox)


def name_of(sandbox: SandboxRecord) -> str:
    """The name of its pod."""
    meta = sandbox.config.metadata
    assert meta is not None
    return meta.name
