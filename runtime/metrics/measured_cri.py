"""`MeasuredCri`: a runtime with metrics of every call, by the verb as a kubelet names it (spec 11.7)."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from runtime.cri import Cri, CriError, StatusCode
from runtime.cri.messages import CreateContainerRequest, NamespaceMode, RunPodSandboxRequest
from runtime.cri.verbs import CREATE_CONTAINER, GET_CONTAINER_EVENTS, RUN_POD_SANDBOX, Req, Res, Verb
from runtime.io.pending import PendingAnswer, Subscription
from runtime.metrics import kubelet as names
from runtime.metrics.meters import NS_PER_SECOND, Meters

_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_OTHERWISE = {"update_container_resources": "update_container"}
_MAKERS = frozenset({RUN_POD_SANDBOX.name, CREATE_CONTAINER.name})
"""Verbs with more metrics than those of the call."""


class _Verb:
    """The series of one verb, looked up once. There is one for each verb, so they fit into the family."""

    __slots__ = ("at_once", "calls", "makes", "name", "times")

    def __init__(self, verb: str, meters: Meters) -> None:
        self.name = operation_type(verb)
        self.makes = verb in _MAKERS
        self.calls = meters.series(names.RUNTIME_OPERATIONS, self.name)
        self.times: Any = meters.series(names.RUNTIME_DURATION, self.name)
        self.at_once: Any = None
        """`times`, where one thread measures and calls take no time: its zeros then count the calls."""
        if meters.alone and not self.makes:
            self.at_once = times = self.times
            self.calls.beside(lambda: times.zeros)


class MeasuredCri:
    """`now_ns` is monotonic, `wall_ns` the time of day."""

    def __init__(self, cri: Cri, meters: Meters, now_ns: Callable[[], int], wall_ns: Callable[[], int]) -> None:
        self._cri = cri
        self._meters = meters
        self._now_ns = now_ns
        self._wall_ns = wall_ns
        self._verbs: dict[str, _Verb] = {}

    def call(self, verb: Verb[Req, Res], request: Req, *, timeout_ns: int | None = None) -> PendingAnswer[Res]:
        """See `Cri.call`."""
        try:
            measured = self._verbs[verb.name]
        except KeyError:
            measured = self._verbs[verb.name] = _Verb(verb.name, self._meters)
        at_once = measured.at_once
        if at_once is not None:
            pending = self._cri.call(verb, request, timeout_ns=timeout_ns)
            if pending.done() and pending.exception(0) is None:
                at_once.zeros += 1
                return pending
            began_ns = self._begins(measured, request)  # no time has passed since the call began
        else:
            began_ns = self._begins(measured, request)
            pending = self._cri.call(verb, request, timeout_ns=timeout_ns)
        if pending.done():
            self._ended(measured, request, began_ns, pending)
        else:
            pending.add_done_callback(lambda done: self._ended(measured, request, began_ns, done))
        return pending

    def _ended(self, measured: _Verb, request: Any, began_ns: int, done: PendingAnswer[Any]) -> None:
        took_ns = self._now_ns() - began_ns
        try:
            failed = done.exception(0) is not None
        except CancelledError:
            failed = False  # a cancelled call has not failed
        measured.times.observe(took_ns / NS_PER_SECOND)
        if failed:
            self._meters.count(names.RUNTIME_ERRORS, measured.name)
        if measured.makes:
            self._made(request, took_ns, failed=failed)

    def _begins(self, measured: _Verb, request: object) -> int:
        """Count the call; returns its start."""
        measured.calls.inc()
        if measured.makes:
            self._is_made(request)
        return self._now_ns()

    def _is_made(self, request: object) -> None:
        if isinstance(request, RunPodSandboxRequest):
            self._meters.count(names.STARTED_PODS)
            if _has_own_users(request):
                self._meters.count(names.STARTED_USERNS_PODS)
        elif isinstance(request, CreateContainerRequest) and (images := _image_volumes(request)):
            self._meters.count(names.IMAGE_VOLUMES, by=images)

    def _made(self, request: object, took_ns: int, *, failed: bool) -> None:
        if isinstance(request, RunPodSandboxRequest):
            self._sandbox_made(request, took_ns, failed=failed)
        elif isinstance(request, CreateContainerRequest) and (images := _image_volumes(request)):
            self._meters.count(names.IMAGE_VOLUMES_ERRORS if failed else names.IMAGE_VOLUMES_MOUNTED, by=images)

    def _sandbox_made(self, request: RunPodSandboxRequest, took_ns: int, *, failed: bool) -> None:
        meters, handler = self._meters, request.runtime_handler
        meters.took(names.SANDBOX_DURATION, took_ns, handler)
        if failed:
            meters.count(names.SANDBOX_ERRORS, handler)
            meters.count(names.STARTED_PODS_ERRORS)
            if _has_own_users(request):
                meters.count(names.STARTED_USERNS_PODS_ERRORS)

    def stream(
        self,
        verb: Verb[Req, Res],
        request: Req,
        on_item: Callable[[Res], None],
        on_end: Callable[[CriError | None], None],
    ) -> Subscription:
        """See `Cri.stream`."""
        if verb.name != GET_CONTAINER_EVENTS.name:
            return self._cri.stream(verb, request, on_item, on_end)
        meters, wall_ns, heard = self._meters, self._wall_ns, False
        alone = meters.alone
        latency = meters.series(names.EVENTED_LATENCY)

        def item(event: Any) -> None:
            nonlocal heard
            if not heard:
                heard = True
                meters.count(names.EVENTED_CONNECTIONS)
            made_ns = event.created_at
            if made_ns:
                late_ns = wall_ns() - made_ns
                if late_ns > 0 or not alone:
                    latency.observe(late_ns / NS_PER_SECOND if late_ns > 0 else 0)
                else:
                    latency.zeros += 1
            on_item(event)

        def end(failure: CriError | None) -> None:
            if failure is not None and failure.code != StatusCode.UNIMPLEMENTED:
                meters.count(names.EVENTED_ERRORS)
            on_end(failure)

        return self._cri.stream(verb, request, item, end)


def operation_type(verb: str) -> str:
    """`RunPodSandbox` -> `run_podsandbox`."""
    name = _WORD.sub("_", verb).lower().replace("pod_sandbox", "podsandbox")
    return _OTHERWISE.get(name, name)


def _image_volumes(request: CreateContainerRequest) -> int:
    images = 0
    for mount in () if request.config is None else request.config.mounts:
        if mount.image is not None:
            images += 1
    return images


def _has_own_users(request: RunPodSandboxRequest) -> bool:
    linux = None if request.config is None else request.config.linux
    context = None if linux is None else linux.security_context
    options = None if context is None else context.namespace_options
    users = None if options is None else options.userns_options
    return users is not None and users.mode == NamespaceMode.POD
