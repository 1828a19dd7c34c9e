"""The answers of the node's server (spec 11.2).

They use the server's inputs: a view of the node, the runtime, the logs.

There are three listeners. The main one authenticates every request (`gate`). The read-only one authenticates nobody and
serves little. The third serves health. Questions to actors run on threads of their own and may take a while; an actor
that does not answer delays only the request that asked.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec
from aiohttp import web

from config.documents.codec import encode
from config.objects import Pod
from runtime.cri import Cri, CriError
from runtime.http_server import manifest_door, zpages
from runtime.http_server.accepting import address_of, let_in
from runtime.http_server.auth.access import ANONYMOUS
from runtime.http_server.auth.client_certificates import NOTHING, Shown
from runtime.http_server.auth.gate import AccessGate, bearer_of, refuse_other_sites
from runtime.http_server.checkpoints import Checkpoints
from runtime.http_server.guests import source_of
from runtime.http_server.heads import Head, HttpRefusal, query_of, sound_path
from runtime.http_server.health import ALIVE, CHECKS, asks_actors, health, wanted_checks, why_unlogged
from runtime.http_server.log_streams import LogStreams
from runtime.http_server.manifest_door import ManifestDoor
from runtime.http_server.measured import MAIN, READ_ONLY, RequestRecords, label_of
from runtime.http_server.numbers import Numbers, NumbersView
from runtime.http_server.observer import Observer, ObserverView, asking_for_token, is_observed
from runtime.http_server.observer import page as observer_page
from runtime.http_server.observer_door import observed_path
from runtime.http_server.paths import EVERYTHING, UPGRADED, Asked, ServerEndpoint, Switch, asked, paths_of
from runtime.http_server.profiles import Profiles
from runtime.http_server.running import run_command, running_pods
from runtime.http_server.sessions.sessions import Sessions, streams_of
from runtime.http_server.sessions.websocket import WebsocketSessions, is_translated
from runtime.http_server.system_logs import SystemLogPlaces, SystemLogs
from runtime.http_server.targets import check_container, first_of, log_request, logged_container, pod_named
from runtime.http_server.tunnel import Way
from runtime.io.daemon_threads import DaemonThreads
from runtime.logs.source import LogSource
from runtime.metrics import kubelet_api as metric_names
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.traces.spans import Tracer

T = TypeVar("T")

THREADS = 4
JSON = "application/json"
Answer = Callable[[web.BaseRequest, Mapping[str, str]], Coroutine[Any, Any, web.StreamResponse]]
"""An endpoint: takes the request and the names in its path. Raises HttpRefusal."""
_NO_SWITCH: frozenset[Switch] = frozenset()
_VAR_LOG = SystemLogPlaces()


class ServedNode(ObserverView, ManifestDoor, NumbersView, Protocol):
    """The view of the actors, and the manifests they accept. Methods may wait, and run on a thread."""

    def pods(self) -> tuple[Pod, ...] | None:
        """Every pod of the node with its status, without mirror pods. None: unknown now."""

    def late(self) -> tuple[str, ...]:
        """A line for each actor that is late; empty when all is well."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that do not change. `configuration`: the document; `flags`: each flag with its value.

    `on`: the enabled switches; `root`: the node's directory; `set_verbosity`: of the log; `idle_ns`: how long a session
    may be silent; `websockets`: whether those of sessions are translated. `split_logs`: one stream of a log can be
    asked for.
    """

    node: str
    version: str
    configuration: Mapping[str, object]
    flags: Mapping[str, str]
    on: frozenset[Switch] = EVERYTHING
    root: str = "/var/lib/kubelet"
    system_logs: SystemLogPlaces = _VAR_LOG
    set_verbosity: Callable[[int], None] = lambda _: None
    idle_ns: int | None = None
    websockets: bool = True
    split_logs: bool = False


class NodeEndpoints:
    """See the module.

    `main`, `read_only` and `health` are handlers for listeners; `upgrade` for the main one. `shown_by`: the certificate
    of the client at the other end. `tracer` None: no request is traced.
    """

    def __init__(
        self,
        facts: Facts,
        view: ServedNode,
        cri: Cri,
        logs: LogSource,
        gate: AccessGate,
        meters: Meters = UNMEASURED,
        shown_by: Callable[[asyncio.BaseTransport | None], Shown] = lambda _: NOTHING,
        tracer: Tracer | None = None,
    ) -> None:
        self._facts = facts
        self._meters = meters
        self._records = RequestRecords(meters, tracer)
        self._numbers = Numbers(view)
        self._view = view
        self._cri = cri
        self._gate = gate
        self._shown_by = shown_by
        self._logs = LogStreams(cri, logs)
        self._sessions = Sessions(cri)
        self._websockets = WebsocketSessions(None if facts.idle_ns is None else facts.idle_ns / 1e9)
        self._checkpoints = Checkpoints(cri, self._sessions, facts.root)
        self._system_logs = SystemLogs(facts.system_logs)
        self._profiles = Profiles()
        self._observer = Observer(view, self._on_thread)
        self._threads = DaemonThreads(THREADS, "http-server")
        self._began = time.time()
        self._answers: dict[ServerEndpoint, Answer] = {
            ServerEndpoint.HEALTH: self._health,
            ServerEndpoint.READY: self._health,
            ServerEndpoint.PODS: self._list_pods,
            ServerEndpoint.RUNNING_PODS: self._list_running,
            ServerEndpoint.LOGS: self._log,
            ServerEndpoint.RUN: self._run,
            ServerEndpoint.CHECKPOINT: self._checkpoint,
            ServerEndpoint.SYSTEM_LOGS: self._system_log,
            ServerEndpoint.CONFIGURATION: self._configuration,
            ServerEndpoint.STATUS: self._status_page,
            ServerEndpoint.FLAGS: self._flags_page,
            ServerEndpoint.PROFILES: self._profile,
            ServerEndpoint.VERBOSITY: self._set_verbosity,
            ServerEndpoint.MANIFESTS: self._manifests,
            ServerEndpoint.SUMMARY: self._numbers.summary,
            ServerEndpoint.METRICS: self._numbers.metrics,
            ServerEndpoint.OBSERVER: self._observer_page,
            ServerEndpoint.OBSERVER_STREAM: self._observer_stream,
            ServerEndpoint.OBSERVER_POD: self._observer_pod,
        }

    def close(self) -> None:
        self._logs.close()
        self._system_logs.close()
        self._numbers.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    # --- doors ------------------------------------------------------------------------------------------------------

    async def main(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request on the main port. Raises HttpRefusal."""
        path = sound_path(request.path)
        shown = self._shown_by(request.transport)
        headers = request.headers
        refuse_other_sites(request.method, headers.get("Sec-Fetch-Site", ""), headers.get("Sec-Fetch-Mode", ""))
        authorization = headers.get("Authorization", "")
        if is_observed(path):
            # Browsers prompt for a name and a password; the password is the token.
            authorization = f"Bearer {bearer_of(authorization)}" if authorization else ""
        try:
            user = await self._gate.admit(
                request.method, path, authorization, shown, source_of(address_of(request.transport))
            )
        except HttpRefusal as refusal:
            raise asking_for_token(refusal) if is_observed(path) else refusal from None
        if user != ANONYMOUS:
            let_in(request.transport)
        return await self._answer(request, asked(request.method, path, self._facts.on))

    def observer(self, token: str) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
        """A handler that serves only the observer, to clients that have the token."""

        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            path = observed_path(request, token)
            return await self._answer(request, asked(request.method, path, self._facts.on))

        return answer

    def translates(self, head: Head) -> bool:
        """Whether a request to upgrade is answered by `main`, and not by `upgrade`."""
        return self._facts.websockets and is_translated(head)

    async def upgrade(self, head: Head, transport: asyncio.Transport) -> Way:
        """Answer a request to upgrade the connection. Raises HttpRefusal."""
        path = sound_path(head.path)
        refuse_other_sites(head.method, head.header("sec-fetch-site"), head.header("sec-fetch-mode"))
        source, shown = source_of(address_of(transport)), self._shown_by(transport)
        user = await self._gate.admit(head.method, path, head.header("authorization"), shown, source)
        if user != ANONYMOUS:
            let_in(transport)
        what = asked(head.method, path, self._facts.on)
        if what.endpoint not in UPGRADED:
            raise HttpRefusal(400, "nothing is upgraded here")
        if head.header("upgrade").lower() == "websocket":
            self._meters.count(metric_names.WEBSOCKETS, label_of(what.pattern))
        return await self._records.tunnel(head, transport, what, self._way(what, head))

    async def read_only(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request on the read-only port. Raises HttpRefusal."""
        path = sound_path(request.path)
        if request.method not in ("GET", "HEAD"):
            raise HttpRefusal(405, "405: Method Not Allowed")
        return await self._answer(request, asked(request.method, path, _NO_SWITCH), READ_ONLY)

    async def health(self, request: web.BaseRequest) -> web.StreamResponse:
        """The health port: alive as long as it answers (spec 11.1); ready while no actor is late.

        Raises HttpRefusal.
        """
        path = sound_path(request.path)
        what = asked(request.method, path, _NO_SWITCH)
        if what.endpoint not in (ServerEndpoint.HEALTH, ServerEndpoint.READY):
            raise HttpRefusal(404, f"there is no {path}")
        return await self._checked(request, what.names, CHECKS if what.endpoint is ServerEndpoint.READY else ALIVE)

    # --- answers ----------------------------------------------------------------------------------------------------

    async def _answer(self, request: web.BaseRequest, what: Asked, server: str = MAIN) -> web.StreamResponse:
        upgraded = what.endpoint in UPGRADED
        work = self._session(request, what) if upgraded else self._answers[what.endpoint](request, what.names)
        return await self._records.answer(request, what, server, work)

    async def _session(self, request: web.BaseRequest, what: Asked) -> web.StreamResponse:
        """Serve a client whose websocket is translated; `upgrade` serves the others."""
        head = Head(request.method, request.raw_path, tuple(request.headers.items()))
        if not self.translates(head):
            raise HttpRefusal(400, "Upgrade request required")
        self._meters.count(metric_names.WEBSOCKETS, label_of(what.pattern))
        way = await self._way(what, head)
        streams = None if what.endpoint is ServerEndpoint.PORT_FORWARD else streams_of(head.query)
        return await self._websockets.serve(request, way, streams)

    async def _way(self, what: Asked, head: Head) -> Way:
        pod = pod_named(await self._pods(), what.names)
        container = what.names.get("container", "")
        if container:
            check_container(pod, container)
        return await self._sessions.way(what.endpoint, pod, container, head)

    async def _health(self, request: web.BaseRequest, names: Mapping[str, str]) -> web.Response:
        return await self._checked(request, names, CHECKS)

    async def _checked(
        self, request: web.BaseRequest, names: Mapping[str, str], checks: tuple[str, ...]
    ) -> web.Response:
        query = query_of(request.rel_url.raw_query_string)
        checks = wanted_checks(checks, names.get("check"), query)
        late = await self._on_thread(self._view.late) if asks_actors(checks) else ()
        unlogged = await self._on_thread(why_unlogged) if "log" in checks else ""
        name = request.path.split("/")[1]
        status, text = health(name, checks, late, unlogged, verbose="verbose" in dict(query))
        return web.Response(status=status, text=text)

    async def _list_pods(self, _: web.BaseRequest, __: Mapping[str, str]) -> web.Response:
        return _json(pod_list(await self._pods()))

    async def _list_running(self, _: web.BaseRequest, __: Mapping[str, str]) -> web.Response:
        return _json(pod_list(await running_pods(self._cri)))

    async def _log(self, request: web.BaseRequest, names: Mapping[str, str]) -> web.StreamResponse:
        query = query_of(request.rel_url.raw_query_string)
        options, previous = log_request(query, time.time_ns(), split=self._facts.split_logs)
        pod = pod_named(await self._pods(), names)
        container_id = logged_container(pod, names["container"], previous=previous)
        return await self._logs.answer(request, container_id, options)

    async def _run(self, request: web.BaseRequest, names: Mapping[str, str]) -> web.Response:
        pod = pod_named(await self._pods(), names)
        check_container(pod, names["container"])
        command = first_of(query_of(request.rel_url.raw_query_string)).get("cmd", "")
        if not command and request.body_exists:
            command = first_of(query_of((await request.read()).decode(errors="replace"))).get("cmd", "")
        if not command.split():
            raise HttpRefusal(400, "there is no cmd")
        try:
            id_ = await self._sessions.running(pod, names["container"])
        except CriError as error:
            raise HttpRefusal(500, f"the runtime does not say what it runs: {error.in_go}") from None
        return web.Response(body=await run_command(self._cri, id_, command), content_type="text/plain")

    async def _checkpoint(self, request: web.BaseRequest, names: Mapping[str, str]) -> web.Response:
        pod = pod_named(await self._pods(), names)
        check_container(pod, names["container"])
        return await self._checkpoints.answer(pod, names["container"], query_of(request.rel_url.raw_query_string))

    async def _system_log(self, request: web.BaseRequest, names: Mapping[str, str]) -> web.StreamResponse:
        return await self._system_logs.answer(request, names.get("file"), query_of(request.rel_url.raw_query_string))

    async def _configuration(self, _: web.BaseRequest, __: Mapping[str, str]) -> web.Response:
        return _json(msgspec.json.encode({"kubeletconfig": self._facts.configuration}))

    async def _profile(self, request: web.BaseRequest, names: Mapping[str, str]) -> web.Response:
        return await self._profiles.answer(names["profile"], query_of(request.rel_url.raw_query_string))

    async def _set_verbosity(self, request: web.BaseRequest, _: Mapping[str, str]) -> web.Response:
        text = (await request.read()).decode(errors="replace").strip()
        if not (text.isascii() and text.isdecimal() and len(text) < 4):
            raise HttpRefusal(400, f"{text[:100]!r} is not a verbosity; give a number such as 4")
        self._facts.set_verbosity(int(text))
        return web.Response(text=f"successfully set the verbosity of the log to {text}\n")

    async def _manifests(self, request: web.BaseRequest, names: Mapping[str, str]) -> web.Response:
        return await manifest_door.answer(request, names, self._view, self._on_thread)

    async def _observer_page(self, _: web.BaseRequest, names: Mapping[str, str]) -> web.Response:
        return observer_page(names.get("file", ""))

    async def _observer_stream(self, request: web.BaseRequest, _: Mapping[str, str]) -> web.StreamResponse:
        return await self._observer.stream(request)

    async def _observer_pod(self, _: web.BaseRequest, names: Mapping[str, str]) -> web.Response:
        told = await self._on_thread(partial(self._view.timeline, names["uid"]))
        if told is None:
            raise HttpRefusal(404, f"nothing is known of a pod {names['uid']}")
        return _json(told)

    async def _pods(self) -> tuple[Pod, ...]:
        """The pods. Raises HttpRefusal when they are unknown: clients would believe an empty list or a 404."""
        pods = await self._on_thread(self._view.pods)
        if pods is None:
            raise HttpRefusal(503, "the node cannot say now which pods it has; ask again", (("Retry-After", "1"),))
        return pods

    async def _status_page(self, request: web.BaseRequest, _: Mapping[str, str]) -> web.Response:
        page = zpages.statusz(
            request.headers.get("Accept", ""),
            version=self._facts.version,
            began_s=self._began,
            now_s=time.time(),
            python=platform.python_version(),
            paths=paths_of(self._facts.on),
        )
        return web.Response(text=page.text, content_type=page.content_type, headers=page.headers)

    async def _flags_page(self, request: web.BaseRequest, _: Mapping[str, str]) -> web.Response:
        page = zpages.flagz(request.headers.get("Accept", ""), self._facts.flags)
        return web.Response(text=page.text, content_type=page.content_type, headers=page.headers)

    async def _on_thread(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, question)


def pod_list(pods: tuple[Pod, ...]) -> bytes:
    """A PodList with every field of the pods, known here or not."""
    items = b",".join(map(encode, pods))
    return b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[' + items + b"]}"


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type=JSON)
