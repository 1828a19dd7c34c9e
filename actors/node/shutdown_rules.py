"""The rules of a shutdown (spec 9.7): which pods end when, with how much time, and the texts. Pure.

Pods end in groups, lowest priority first. A group has its time; the next begins when all of it has ended or the time is
up. `shutdownGracePeriod` makes two groups: ordinary pods, and critical ones, which get
`shutdownGracePeriodCriticalPods` at the end of the whole time. `shutdownGracePeriodByPodPriority` makes one group for
each entry: a pod belongs to the highest one that is not above its own priority.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actors.node_object.lease import micro_time
from config.kubelet import KubeletConfiguration
from config.objects import Pod
from config.pods.identity import SYSTEM_CLUSTER_CRITICAL, SYSTEM_CRITICAL_PRIORITY, SYSTEM_NODE_CRITICAL
from config.values.api_time import ns_of

SECOND_NS = 1_000_000_000
REASON = "Terminated"
MESSAGE = "Pod was terminated in response to imminent node shutdown."
NOT_READY = "node is shutting down"
EVENT = "Shutdown"
BEGINS = "Shutdown manager detected shutdown event"
CANCELLED = "Shutdown manager detected shutdown cancellation"
_CLASSES = {SYSTEM_NODE_CRITICAL: SYSTEM_CRITICAL_PRIORITY + 1000, SYSTEM_CLUSTER_CRITICAL: SYSTEM_CRITICAL_PRIORITY}
_NEVER = "0001-01-01T00:00:00Z"


class Group(msgspec.Struct, frozen=True):
    """The pods from that priority up to the next group, and their time."""

    priority: int
    period_ns: int


def groups_of(configuration: KubeletConfiguration) -> tuple[Group, ...]:
    """The groups in the order of their end; () when the machine is not delayed."""
    listed = configuration.shutdown_grace_period_by_pod_priority
    if listed:
        found = (Group(each.priority, each.shutdown_grace_period_seconds * SECOND_NS) for each in listed)
        return tuple(sorted(found, key=lambda group: group.priority))
    whole, critical = configuration.shutdown_grace_period, configuration.shutdown_grace_period_critical_pods
    if whole <= 0:
        return ()
    return (Group(0, whole - critical), Group(SYSTEM_CRITICAL_PRIORITY, critical))


def whole_ns(groups: Sequence[Group]) -> int:
    """The time of all groups together."""
    return sum(group.period_ns for group in groups)


def fitted(groups: Sequence[Group], available_ns: int) -> tuple[Group, ...]:
    """The groups, cut to `available_ns`: what is missing is taken from those that end first."""
    missing_ns, found = max(0, whole_ns(groups) - available_ns), []
    for group in groups:
        taken_ns = min(missing_ns, group.period_ns)
        missing_ns -= taken_ns
        found.append(Group(group.priority, group.period_ns - taken_ns))
    return tuple(found)


def group_of(groups: Sequence[Group], pod: Pod) -> int:
    """The index of the pod's group; a pod below all groups belongs to the first."""
    mine = priority_of(pod)
    return max((index for index, group in enumerate(groups) if group.priority <= mine), default=0)


def priority_of(pod: Pod) -> int:
    """The priority from the API server.

    A manifest may only name a class: the two system classes are known.
    """
    if pod.spec.priority is not None:
        return pod.spec.priority
    return _CLASSES.get(pod.spec.priority_class_name or "", 0)


def grace_seconds(pod: Pod, left_ns: int) -> int:
    """The pod's own grace, up to what is left for its group."""
    left = max(0, left_ns) // SECOND_NS
    own = pod.spec.termination_grace_period_seconds
    return left if own is None else min(left, own)


# --- the saved state --------------------------------------------------------------------------------------------------


class Shutdown(msgspec.Struct, frozen=True):
    """When the last shutdown began and ended, wall time in ns; 0: it has not."""

    began_ns: int = 0
    ended_ns: int = 0

    def runs_at(self, wall_ns: int, lasts_ns: int) -> bool:
        """Whether an agent that starts at that time may be in the middle of it.

        Later the machine has gone down.
        """
        return self.began_ns > 0 and not self.ended_ns and 0 <= wall_ns - self.began_ns < lasts_ns


NO_SHUTDOWN = Shutdown()


class _Saved(msgspec.Struct, frozen=True, rename="camel"):
    start_time: str = _NEVER
    end_time: str = _NEVER


def text_of(shutdown: Shutdown) -> str:
    """The document, in the format of kubelets."""
    return msgspec.json.encode(_Saved(_stamp(shutdown.began_ns), _stamp(shutdown.ended_ns))).decode()


_decode_saved = msgspec.json.Decoder(_Saved).decode


def shutdown_in(text: bytes) -> Shutdown:
    """Parse the document. Raises msgspec.MsgspecError."""
    saved = _decode_saved(text)
    return Shutdown(_ns(saved.start_time), _ns(saved.end_time))


def _stamp(wall_ns: int) -> str:
    return micro_time(wall_ns) if wall_ns else _NEVER


def _ns(stamp: str) -> int:
    return max(0, ns_of(stamp) or 0)
