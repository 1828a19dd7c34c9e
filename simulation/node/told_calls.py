"""Tells of each answer that an agent gets from its runtime and the API server, for traces.

A row of a trace says which message an actor handled. What ended before it, and for which pod, is told here: `answered
RunPodSandbox of default/web-0`. A node has this between its agent and the outside only where somebody reads the trace.
It changes nothing: no answer comes earlier, later or in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from actors.kernel.promise import Pending
from runtime.api.calls import ApiCall, WatchCall
from runtime.api.capability import Api
from runtime.cri import Cri
from simulation.cri.state import ContainerRecord, RuntimeState, SandboxRecord

T = TypeVar("T")

Tell = Callable[[str, str], object]
"""Gets who has answered, `/runtime` or `/api`, and the answered call."""


class ToldCri:
    """Passes calls on to the runtime. `state`: that of the runtime, to find the pods of ids."""

    def __init__(self, cri: Cri, state: RuntimeState, tell: Tell) -> None:
        self._cri = cri
        self._state = state
        self._tell = tell
        self.stream = cri.stream

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Pending[Any]:
        """See `Cri.call`."""
        what = f"{verb.name}{_of(pod_of(request, self._state))}"  # before the call, which may remove it
        return _told(self._cri.call(verb, request, timeout_ns=timeout_ns), "/runtime", what, self._tell)


class ToldApi:
    """Passes calls and watches on to the API server."""

    def __init__(self, api: Api, tell: Tell) -> None:
        self._api = api
        self._tell = tell

    def call(self, call: ApiCall[T], *, timeout_ns: int | None = None) -> Pending[T]:
        """See `Api.call`."""
        what = f"{call.what}{_of('/'.join(filter(None, (call.namespace, call.name))))}"
        return _told(self._api.call(call, timeout_ns=timeout_ns), "/api", what, self._tell)

    def watch(self, call: WatchCall[Any], on_event: Callable[[Any], None], on_end: Callable[[Any], None]) -> Any:
        """See `Api.watch`."""
        return self._api.watch(call, on_event, on_end)


def pod_of(request: Any, state: RuntimeState) -> str:
    """The pod and container, or the image, that a call to the runtime is about; empty without any."""
    around, config = getattr(request, "sandbox_config", None), getattr(request, "config", None)
    pod = getattr(around or config, "metadata", None)
    container = getattr(config, "metadata", None) if around is not None else None
    image = getattr(getattr(request, "image", None), "image", "")
    if pod is not None:
        named = f"{pod.namespace}/{pod.name}" + (f"/{container.name}" if container is not None else "")
    elif (record := state.containers.get(getattr(request, "container_id", ""))) is not None:
        named = _container(record)
    elif (sandbox := state.sandboxes.get(getattr(request, "pod_sandbox_id", ""))) is not None:
        named = _sandbox(sandbox)
    else:
        return image
    return f"{image} for {named}" if image else named


def _container(record: ContainerRecord) -> str:
    metadata = record.config.metadata
    return f"{_sandbox(record.sandbox)}/{'' if metadata is None else metadata.name}"


def _sandbox(record: SandboxRecord) -> str:
    metadata = record.config.metadata
    return "" if metadata is None else f"{metadata.namespace}/{metadata.name}"


def _of(what: str) -> str:
    return f" of {what}" if what else ""


def _told(pending: Pending[T], who: str, what: str, tell: Tell) -> Pending[T]:
    def ended(done: Pending[T]) -> None:
        failure = done.exception()
        tell(who, f"answered {what}" if failure is None else f"failed {what}: {' '.join(str(failure).split())}")

    pending.add_done_callback(ended)
    return pending
