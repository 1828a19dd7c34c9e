"""The questions to a prober, and its answers (spec 5).

A check needs no further look-ups: addresses and ports are numbers, and commands are expanded. An answer has an outcome
and a text for people. Thresholds are not known here.
"""

from __future__ import annotations

import enum
from typing import Protocol, TypeAlias

import msgspec

from runtime.io.pending import PendingAnswer

PROBE_USER_AGENT = "kube-probe/1.36"
"""The user agent by which servers recognise a kubelet's probes; some leave them out of their logs."""
SHOWN_BYTES = 10 * 1024
"""The number of bytes that are read of a container's answer."""
NS_PER_SECOND = 1_000_000_000


class ProbeOutcome(enum.Enum):
    """The outcome of a check.

    Two say nothing about the container. UNKNOWN: the check could not be made. LATE: no answer came in time, but this
    node was too busy to receive one.
    """

    SUCCESS = "success"
    WARNING = "warning"
    FAILURE = "failure"
    UNKNOWN = "unknown"
    LATE = "late"


class ProbeAnswer(msgspec.Struct, frozen=True, gc=False):
    """`text` is for people; empty after a plain success."""

    outcome: ProbeOutcome
    text: str = ""


class ExecCheck(msgspec.Struct, frozen=True):
    """Run a command in the container; exit code 0 is success."""

    command: tuple[str, ...]


class HttpCheck(msgspec.Struct, frozen=True):
    """GET a URL; any 2xx or 3xx is success.

    `headers` as the pod has them, in order; `Host` is one of them.
    """

    url: str
    headers: tuple[tuple[str, str], ...] = ()


class TcpCheck(msgspec.Struct, frozen=True):
    """Open a connection; that it opens is success."""

    host: str
    port: int


class GrpcCheck(msgspec.Struct, frozen=True):
    """Ask grpc.health.v1.Health/Check; SERVING is success."""

    host: str
    port: int
    service: str = ""


Check: TypeAlias = ExecCheck | HttpCheck | TcpCheck | GrpcCheck


class Prober(Protocol):
    """Probes the containers of this node."""

    def probe(
        self, container_id: str, kind: str, check: Check, timeout_ns: int
    ) -> PendingAnswer[ProbeAnswer] | ProbeAnswer:
        """Ask once; an answer that is there at once may be given as it is.

        `kind` (startup, readiness, liveness) is for whoever plays a container.

        No answer within `timeout_ns` is a FAILURE, or LATE. Never blocks the caller, and never fails: what goes wrong
        on this side is UNKNOWN.
        """
