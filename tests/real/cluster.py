"""An API server that the agent of a test has joined.

The embedded one, in this process, with the Node authorizer.

Pods have names that end in the node's, as those of manifests do: so what looks for pods by name (`Agent`, `Truth`)
finds both. Everything here names them without that end, and asks as the server's admin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Protocol

import msgspec

from cli.run.node_start import open_lines
from cli.simulated.embedded_api import ApiServerOptions, embedded_api
from config.api.resources import PODS, Resource
from config.documents.codec import from_builtins
from config.kubelet import KubeletConfiguration
from config.objects import Pod, PodStatus
from runtime.api import ApiError, PatchType, create, delete, get, patch, update
from runtime.api.access import read_access
from runtime.io.event_loop import LoopThread
from tests.real.agent import NODE, PATIENCE_S, Agent
from tests.real.waiting import until

ANSWER_S = 60


class Served(Protocol):
    """A server that runs, with files for its admin and its nodes. See `EmbeddedApi`."""

    @property
    def kubeconfig(self) -> str: ...

    @property
    def node_kubeconfigs(self) -> Mapping[str, str]: ...

    @property
    def authority(self) -> str: ...


class Cluster:
    """Its objects, all in the namespace `default`."""

    def __init__(self, served: Served, loop: LoopThread, agent: Agent) -> None:
        self.kubeconfig = served.kubeconfig
        """Of the admin, who comes with a token."""
        self.node_kubeconfig = served.node_kubeconfigs[NODE]
        self.authority = served.authority
        """Path of the certificate of who signs the server's clients."""
        self.lines = open_lines(read_access(served.kubeconfig), loop, KubeletConfiguration())
        self._agent = agent

    def join(self, *flags: str) -> None:
        """Start the agent as a node of this server."""
        self._agent.start("--kubeconfig", self.node_kubeconfig, *flags)

    def create(self, resource: Resource[Any], name: str, **fields: Any) -> None:
        namespace = "default" if resource.namespaced else ""
        document = {"metadata": {"name": name, "namespace": namespace}, **fields}
        self._ask(create(resource, namespace, from_builtins(document, resource.kind)))

    def get(self, resource: Resource[Any], name: str) -> Any:
        """The object as the server has it. Raises ApiError."""
        return self._ask(get(resource, "default", name))

    def change(self, resource: Resource[Any], name: str, **fields: Any) -> None:
        """Merge fields into an object."""
        self._ask(patch(resource, "default", name, fields, patch_type=PatchType.MERGE))

    def run(self, document: dict[str, Any], **metadata: Any) -> None:
        """A pod, bound to the node."""
        self.submit({**document, "spec": {"nodeName": NODE, **document["spec"]}}, **metadata)

    def submit(self, document: dict[str, Any], **metadata: Any) -> None:
        """A pod that a scheduler binds."""
        meta = {**document["metadata"], **metadata, "namespace": "default"}
        meta["name"] = f"{meta['name']}-{NODE}"
        spec = document["spec"]
        self._ask(create(PODS, "default", from_builtins({"metadata": meta, "spec": spec}, Pod)))

    def pod(self, name: str) -> Pod | None:
        """As the server has it; None when it has no such pod."""
        try:
            found: Pod = self._ask(get(PODS, "default", f"{name}-{NODE}"))
        except ApiError as failure:
            if failure.not_found:
                return None
            raise
        return found

    def status(self, name: str) -> PodStatus:
        """Of a pod; empty while there is none."""
        found = self.pod(name)
        return PodStatus() if found is None or found.status is None else found.status

    def conditions(self, name: str) -> dict[str, str]:
        return {each.type: each.status for each in self.status(name).conditions}

    def restarts(self, name: str, container: str = "main") -> int:
        """How often a container was started again; -1 while nothing is said of it."""
        counts = {each.name: each.restart_count for each in self.status(name).container_statuses}
        return counts.get(container, -1)

    def change_spec(self, name: str, subresource: str = "", **fields: Any) -> None:
        """Replace fields of a pod's spec, also where the agent writes the status at the same time."""
        found = self.pod(name)
        assert found is not None, f"there is no pod {name}"
        spec = msgspec.structs.replace(found.spec, **fields)
        any_version = msgspec.structs.replace(found.metadata, resource_version="")
        changed = msgspec.structs.replace(found, metadata=any_version, spec=spec)
        self._ask(update(PODS, "default", changed, subresource=subresource))

    def set_condition(self, name: str, kind: str, status: str) -> None:
        """As a controller would."""
        body = {"status": {"conditions": [{"type": kind, "status": status}]}}
        named = f"{name}-{NODE}"
        self._ask(patch(PODS, "default", named, body, patch_type=PatchType.STRATEGIC, subresource="status"))

    def delete(self, name: str, grace_seconds: int | None = None) -> None:
        self._ask(delete(PODS, "default", f"{name}-{NODE}", grace_seconds=grace_seconds))

    def await_phase(self, phase: str, *names: str, limit_s: float = PATIENCE_S) -> None:
        """Return once every one of these pods has the phase here."""

        def phases() -> dict[str, str | None]:
            return {name: self.status(name).phase for name in names}

        until(
            lambda: all(each == phase for each in phases().values()),
            limit_s,
            lambda: f"{phases()} are not {phase}: {self._agent.troubles()}",
        )

    def await_gone(self, *names: str, limit_s: float = PATIENCE_S) -> None:
        """Return once the server has none of these pods."""
        until(
            lambda: not any(self.pod(name) for name in names),
            limit_s,
            lambda: f"{[name for name in names if self.pod(name)]} are still there: {self._agent.troubles()}",
        )

    def _ask(self, call: Any) -> Any:
        return self.lines.main.call(call).result(ANSWER_S)


@contextmanager
def cluster_for(agent: Agent) -> Iterator[Cluster]:
    """A server for this agent, which is taken down before the server ends."""
    place = agent.directory / "api"
    place.mkdir()
    options = ApiServerOptions(str(place), str(place / "admin.kubeconfig"), node_authorizer=True, nodes=(NODE,))
    with embedded_api(options) as served, closing(LoopThread("admin")) as loop:
        cluster = Cluster(served, loop, agent)
        with closing(cluster.lines):
            yield cluster
            agent.take_down()
