"""What the node's server answers (spec 11.2), of what it is given: a view of the node, the runtime, the logs.

Three doors lead here: the main one, where everybody is asked who he is (`gate`); the read-only one, where nobody is and
where there is little; and the one for health. What the actors know is asked on threads of its own and may take a while;
an actor that does not answer costs the one who asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec
from aiohttp import web

from config.codec import encode
from config.objects import Container, ObjectMeta, Pod, PodSpec
from runtime.cri import Cri, CriError
from runtime.cri.messages import (
    ContainerFilter,
    ContainerState,
    ContainerStateValue,
    ExecSyncRequest,
    ListContainersRequest,
    ListPodSandboxRequest,
    PodSandboxFilter,
    PodSandboxState,
    PodSandboxStateValue,
)
from runtime.cri.verbs import EXEC_SYNC, LIST_CONTAINERS, LIST_POD_SANDBOX
from runtime.http_server.doorman import Way
from runtime.http_server.gate import Gate
from runtime.http_server.heads import Head, Refusal, query_of, sound_path
from runtime.http_server.log_streams import LogStreams
from runtime.http_server.paths import UPGRADED, Asked, Endpoint, asked
from runtime.http_server.reviews import settled
from runtime.http_server.sessions import CONTAINER_NAME, Sessions
from runtime.http_server.targets import check_container, first_of, log_request, logged_container, pod_named
from runtime.log_source import LogSource

T = TypeVar("T")

THREADS = 4
JSON = "application/json"
POD_LABELS = "io.kubernetes.pod"
CHECKS = ("ping", "actors")
"""The parts of health: that this answers at all, and that no actor is late."""


class NodeView(Protocol):
    """What the actors know. Each method may wait, and is called on a thread."""

    def pods(self) -> tuple[Pod, ...]:
        """Every pod of the node, with its status; mirror pods are not among them."""
        ...

    def late(self) -> tuple[str, ...]:
        """A line for each actor that is late; empty when all is well."""
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change. `configuration`: the document; `flags`: what there is to say of each."""

    node: str
    version: str
    configuration: Mapping[str, object]
    flags: Mapping[str, str]
    debug: bool = True


class NodeEndpoints:
    """See the module. `main`, `read_only` and `health` are handlers for listeners; `upgrade` for the main one."""

    def __init__(self, facts: Facts, view: NodeView, cri: Cri, logs: LogSource, gate: Gate) -> None:
        self._facts = facts
        self._view = view
        self._cri = cri
        self._gate = gate
        self._logs = LogStreams(cri, logs)
        self._sessions = Sessions(cri)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="http-server")
        self._began = time.time()

    def close(self) -> None:
        self._logs.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    # --- doors ------------------------------------------------------------------------------------------------------

    async def main(self, request: web.BaseRequest) -> web.StreamResponse:
        """Raises Refusal."""
        path = sound_path(request.path)
        certificate = request.transport.get_extra_info("peercert") if request.transport is not None else None
        await self._gate.admit(request.method, path, request.headers.get("Authorization", ""), certificate)
        return await self._answer(request, asked(request.method, path, debug=self._facts.debug))

    async def upgrade(self, head: Head, transport: asyncio.Transport) -> Way:
        """Raises Refusal."""
        path = sound_path(head.path)
        certificate = transport.get_extra_info("peercert")
        await self._gate.admit(head.method, path, head.header("authorization"), certificate)
        what = asked(head.method, path, debug=self._facts.debug)
        if what.endpoint not in UPGRADED:
            raise Refusal(400, "nothing is upgraded here")
        pod = pod_named(await self._pods(), what.names)
        container = what.names.get("container", "")
        if container:
            check_container(pod, container)
        return await self._sessions.way(what.endpoint, pod, container, head)

    async def read_only(self, request: web.BaseRequest) -> web.StreamResponse:
        """Raises Refusal."""
        path = sound_path(request.path)
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, "405: Method Not Allowed")
        return await self._answer(request, asked(request.method, path, debug=False))

    async def health(self, request: web.BaseRequest) -> web.StreamResponse:
        """The health port: alive as long as it answers (spec 11.1); ready while no actor is late. Raises Refusal."""
        path = sound_path(request.path)
        what = asked(request.method, path, debug=False)
        if what.endpoint not in (Endpoint.HEALTH, Endpoint.READY):
            raise Refusal(404, f"there is no {path}")
        return await self._health(request, what, CHECKS if what.endpoint is Endpoint.READY else CHECKS[:1])

    # --- answers ----------------------------------------------------------------------------------------------------

    async def _answer(self, request: web.BaseRequest, what: Asked) -> web.StreamResponse:
        endpoint = what.endpoint
        if endpoint in (Endpoint.HEALTH, Endpoint.READY):
            return await self._health(request, what, CHECKS)
        if endpoint is Endpoint.PODS:
            return _json(pod_list(await self._pods()))
        if endpoint is Endpoint.RUNNING_PODS:
            return _json(pod_list(await self._running_pods()))
        if endpoint is Endpoint.LOGS:
            return await self._log(request, what.names)
        if endpoint in UPGRADED:
            raise Refusal(400, "Upgrade request required")
        if endpoint is Endpoint.RUN:
            return await self._run(request, what.names)
        if endpoint is Endpoint.CONFIGURATION:
            return _json(msgspec.json.encode({"kubeletconfig": self._facts.configuration}))
        return web.Response(text=self._status_page() if endpoint is Endpoint.STATUS else self._flags_page())

    async def _health(self, request: web.BaseRequest, what: Asked, checks: tuple[str, ...]) -> web.Response:
        query = query_of(request.query_string)
        left_out = {value for name, value in query if name == "exclude"}
        only = what.names.get("check")
        if only is not None and only not in checks:
            raise Refusal(404, f"there is no check {only}; there are {', '.join(checks)}")
        checks = tuple(each for each in checks if each not in left_out) if only is None else (only,)
        late = await self._on_thread(self._view.late) if "actors" in checks else ()
        lines = []
        for check in checks:
            bad = check == "actors" and late
            lines += [f"[-]{check} failed: {each}" for each in late] if bad else [f"[+]{check} ok"]
        name = request.path.split("/")[1]
        if late:
            return web.Response(status=500, text="\n".join([*lines, f"{name} check failed", ""]))
        if "verbose" in dict(query):
            return web.Response(text="\n".join([*lines, f"{name} check passed", ""]))
        return web.Response(text="ok")

    async def _log(self, request: web.BaseRequest, names: Mapping[str, str]) -> web.StreamResponse:
        options, previous = log_request(query_of(request.query_string), time.time_ns())
        pod = pod_named(await self._pods(), names)
        container_id = logged_container(pod, names["container"], previous=previous)
        return await self._logs.answer(request, container_id, options)

    async def _run(self, request: web.BaseRequest, names: Mapping[str, str]) -> web.Response:
        pod = pod_named(await self._pods(), names)
        check_container(pod, names["container"])
        command = first_of(query_of(request.query_string)).get("cmd", "")
        if not command and request.body_exists:
            command = first_of(query_of((await request.read()).decode(errors="replace"))).get("cmd", "")
        words = tuple(command.split())
        if not words:
            raise Refusal(400, "there is no cmd")
        try:
            id_ = await self._sessions.running(pod, names["container"])
            done = await settled(self._cri.call(EXEC_SYNC, ExecSyncRequest(container_id=id_, cmd=words)))
        except CriError as error:
            raise Refusal(500, f"the runtime does not run it: {error}") from None
        output = done.stdout + done.stderr
        if done.exit_code:
            said = output.decode(errors="replace")
            raise Refusal(500, f"command {command!r} exited with {done.exit_code}: {said}")
        return web.Response(body=output, content_type="text/plain")

    async def _pods(self) -> tuple[Pod, ...]:
        return await self._on_thread(self._view.pods)

    async def _running_pods(self) -> tuple[Pod, ...]:
        ready = PodSandboxFilter(state=PodSandboxStateValue(state=PodSandboxState.SANDBOX_READY))
        running = ContainerFilter(state=ContainerStateValue(state=ContainerState.CONTAINER_RUNNING))
        try:
            sandboxes = (await settled(self._cri.call(LIST_POD_SANDBOX, ListPodSandboxRequest(filter=ready)))).items
            found = (await settled(self._cri.call(LIST_CONTAINERS, ListContainersRequest(filter=running)))).containers
        except CriError as error:
            raise Refusal(500, f"the runtime does not say what it runs: {error}") from None
        inside: dict[str, list[Container]] = {}
        for each in found:
            name, image = each.labels.get(CONTAINER_NAME, ""), each.image.image if each.image else ""
            inside.setdefault(each.pod_sandbox_id, []).append(Container(name=name, image=image))
        return tuple(_running_pod(each.labels, tuple(inside.get(each.id, ()))) for each in sandboxes)

    def _status_page(self) -> str:
        up = int(time.time() - self._began)
        return (
            f"kubelet statusz\nStarted: {up} s ago\nBinary version: {self._facts.version}\nNode: {self._facts.node}\n"
        )

    def _flags_page(self) -> str:
        return "kubelet flagz\n" + "".join(f"{name}={value}\n" for name, value in sorted(self._facts.flags.items()))

    async def _on_thread(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, question)


def pod_list(pods: tuple[Pod, ...]) -> bytes:
    """A PodList with every field of the pods, known here or not."""
    items = b",".join(map(encode, pods))
    return b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[' + items + b"]}"


def _running_pod(labels: Mapping[str, str], containers: tuple[Container, ...]) -> Pod:
    meta = ObjectMeta(
        name=labels.get(f"{POD_LABELS}.name", ""),
        namespace=labels.get(f"{POD_LABELS}.namespace", ""),
        uid=labels.get(f"{POD_LABELS}.uid", ""),
    )
    return Pod(metadata=meta, spec=PodSpec(containers=containers))


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type=JSON)
