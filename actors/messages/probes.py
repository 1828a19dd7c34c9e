"""What a pod worker and the runner of its pod's probes say to each other."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from actors.kernel import Message
from actors.model.observed import ProbeResults
from config.objects import Pod


class RunningContainer(msgspec.Struct, frozen=True, gc=False):
    """A running container. `ready`, `started`: the published state of this very container; None: nothing was
    published.
    """

    name: str
    id: str
    started_wall_ns: int
    ready: bool | None = None
    started: bool | None = None


class ContainersSeen(Message, frozen=True):
    """PodWorker -> ProbeRunner: what runs of the pod now. `ip` is empty while the pod has none; `ending`: it ends."""

    pod: Pod
    running: tuple[RunningContainer, ...]
    ip: str
    ending: bool

    def coalesce_key(self) -> Hashable:
        return "seen"


class TellVerdicts(Message, frozen=True):
    """PodWorker -> ProbeRunner: I know nothing (any more); tell the verdicts that hold."""

    def coalesce_key(self) -> Hashable:
        return "tell"


class ProbesJudged(Message, frozen=True):
    """ProbeRunner -> PodWorker: the verdicts that hold now, of all probes."""

    results: ProbeResults

    def coalesce_key(self) -> Hashable:
        return "judged"


class ProbeRunnerStarted(Message, frozen=True):
    """ProbeRunner -> PodWorker: I know nothing (any more); tell me what runs."""

    def coalesce_key(self) -> Hashable:
        return "runner started"
