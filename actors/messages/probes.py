"""Messages between a pod worker and its probe runner."""

from __future__ import annotations

import msgspec

from actors.kernel import SoleMessage
from actors.model.observed import ProbeResults
from config.objects import Pod


class RunningContainer(msgspec.Struct, frozen=True, gc=False):
    """A running container.

    `ready`, `started`: the published state of this very container; None: nothing was published.
    """

    name: str
    id: str
    started_wall_ns: int
    ready: bool | None = None
    started: bool | None = None


class ContainersSeen(SoleMessage, frozen=True):
    """PodWorker -> ProbeRunner: what runs of the pod now.

    `ip` is empty while the pod has none; `ending`: it ends.
    """

    pod: Pod
    running: tuple[RunningContainer, ...]
    ip: str
    ending: bool


class TellVerdicts(SoleMessage, frozen=True):
    """PodWorker -> ProbeRunner: I know nothing (any more); tell the verdicts that hold."""


class ProbesJudged(SoleMessage, frozen=True):
    """ProbeRunner -> PodWorker: the verdicts that hold now, of all probes."""

    results: ProbeResults


class ProbeRunnerStarted(SoleMessage, frozen=True):
    """ProbeRunner -> PodWorker: I know nothing (any more); tell me what runs."""
