"""The lifecycle hook that a pod defines, as a call (spec 3.11). Pure.

A hook is a command in the container, an HTTP call to it, or a sleep. The API allows `tcpSocket`, but no Kubernetes
agent has ever run it, so it is refused here too.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

import msgspec

from actors.model.observed import ObservedContainer
from actors.probes.rules import CheckImpossibleError, port_of
from config.objects import Container, ContainerPort, LifecycleHandler, Pod
from config.pods.identity import title
from runtime.cri.identity import PORTS
from runtime.io.network import address

SECOND_NS = 1_000_000_000


class HookKind(enum.Enum):
    """The two hooks of a container.

    The value is the field name; `event` is the reason of the failure event.
    """

    POST_START = "postStart"
    PRE_STOP = "preStop"

    @property
    def event(self) -> str:
        return "FailedPostStartHook" if self is HookKind.POST_START else "FailedPreStopHook"

    @property
    def failure(self) -> str:
        """The message of the failure event.

        It leaves out the error: a hook may print secrets, and many people read events.
        """
        return "PostStartHook failed" if self is HookKind.POST_START else "PreStopHook failed"


class ExecHook(msgspec.Struct, frozen=True):
    """Run a command in the container; exit code 0 is success."""

    command: tuple[str, ...]


class HttpHook(msgspec.Struct, frozen=True):
    """GET a URL; any answer is success."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()


class SleepHook(msgspec.Struct, frozen=True):
    """Sleep."""

    ns: int


Hook: TypeAlias = ExecHook | HttpHook | SleepHook


class HookImpossibleError(ValueError):
    """The hook cannot run: its port does not exist, the pod has no address, or it has no action."""


def hook_of(container: Container, handler: LifecycleHandler, pod_ip: str) -> Hook:
    """The hook to run. Raises HookImpossibleError."""
    if handler.exec is not None:
        return ExecHook(handler.exec.command)
    http = handler.http_get
    if http is not None:
        host = http.host or pod_ip
        if not host:
            raise HookImpossibleError("the pod has no address to call; its sandbox is gone, or has no network")
        try:
            where = address(host, port_of(container, http.port))
        except CheckImpossibleError as impossible:
            raise HookImpossibleError(str(impossible)) from None
        path = http.path or "/"
        url = f"{(http.scheme or 'HTTP').lower()}://{where}{path if path.startswith('/') else f'/{path}'}"
        return HttpHook(url, tuple((each.name, each.value) for each in http.http_headers))
    if handler.sleep is not None:
        return SleepHook(max(0, handler.sleep.seconds) * SECOND_NS)
    if handler.tcp_socket is not None:
        raise HookImpossibleError("tcpSocket is not supported in lifecycle hooks; use exec, httpGet or sleep")
    raise HookImpossibleError("the hook says nothing of what to do; give it exec, httpGet or sleep")


def words_of(hook: Hook) -> str:
    """The hook in words for people."""
    if isinstance(hook, ExecHook):
        return f"command '{' '.join(hook.command)}'"
    return f"GET {hook.url}" if isinstance(hook, HttpHook) else f"a sleep of {hook.ns / SECOND_NS:g} s"


def failure_message(pod: Pod, container: Container, handler: LifecycleHandler, why: str) -> str:
    """The message of a container that waits because its hook has failed."""
    if handler.exec is not None:
        what = f"Exec lifecycle hook ([{' '.join(handler.exec.command)}])"
    elif handler.http_get is not None:
        what = f"HTTP lifecycle hook ({handler.http_get.path or ''})"
    elif handler.sleep is not None:
        what = f"Sleep lifecycle hook ({handler.sleep.seconds})"
    else:
        return f"Cannot run handler: {why}"
    return f'{what} for Container "{container.name}" in Pod "{title(pod)}" failed - error: {why}'


_decode_ports = msgspec.json.Decoder(tuple[ContainerPort, ...]).decode


def known_by_notes(found: ObservedContainer) -> Container:
    """The part of a container's definition that its hook needs, from its annotations.

    It is used when the pod spec is lost.
    """
    try:
        ports = _decode_ports(found.annotations.get(PORTS, "[]"))
    except (msgspec.MsgspecError, UnicodeError):
        ports = ()  # the annotation is not ours
    return Container(name=found.name, ports=ports)
