"""What the steps of one pass share: the known state of the pod (`PodPass`), and their `Outcome`.

Data only. A step leaves in `PodPass` what later steps need, and returns an outcome. `actors.pod.sync` alone acts on
outcomes: it sets timers, records events and tells `explain`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from actors.messages.pods import RuntimeStateObserved
from actors.messages.volumes import VolumesPrepared
from actors.model.id_ranges import IdRange
from actors.model.observed import ObservedPod
from actors.pod_rules.actions import PodActions
from actors.start.mounts import MountAbilities
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.cri.messages import PodSandboxConfig


class Continue(msgspec.Struct, frozen=True):
    """The next step may begin."""


class PassWait(msgspec.Struct, frozen=True):
    """The pass ends here. `text` says what the pod waits for, and `then` what comes next.

    Without a `text` the pod waits for what its containers wait for. `retry_ns`: the next pass begins after this time
    at the latest; None: an answer or a change begins it. `warn`: a change of `text` is also a warning event.

    `long`: only this pod waits, and it may take long.
    """

    text: str = ""
    then: str = ""
    reason: str = ""
    retry_ns: int | None = None
    warn: bool = False
    long: bool = False


class Refuse(msgspec.Struct, frozen=True):
    """The pod cannot go on as it is.

    A warning event says so, and the pass is tried again after `retry_ns`.
    """

    reason: str
    message: str
    then: str
    retry_ns: int
    event: str
    """The message of the event."""


Outcome: TypeAlias = Continue | PassWait | Refuse
CONTINUE = Continue()
WAIT = PassWait()
"""End the pass; the waits of the containers say why."""


def may_take_long(outcome: Outcome) -> bool:
    """Whether the pod waits for something of its own that may take long.

    What all pods wait for is something else: they would all start together when it comes.
    """
    return outcome.long if isinstance(outcome, PassWait) else isinstance(outcome, Refuse)


NO_VOLUMES = VolumesPrepared(FrozenMap())


class StartPlace(msgspec.Struct, frozen=True):
    """The place where containers are started.

    It has the sandbox of the pod, the ids of its user namespace, and the mount abilities of the runtime.
    """

    attempt: int
    id: str
    config: PodSandboxConfig
    mount_abilities: MountAbilities = MountAbilities()
    ids: IdRange | None = None


class PodPass(msgspec.Struct):
    """The data of one pass. Each pass makes a new one."""

    pod: Pod
    runtime: RuntimeStateObserved
    """The runtime's own report: its name, errors and abilities."""
    observed: ObservedPod
    """The observed pod, set by the look."""
    phase: str = ""
    """The phase that was published last."""
    volumes: VolumesPrepared = NO_VOLUMES
    """The volumes that the containers are started with."""
    actions: PodActions = PodActions()
    """The decided actions, set when all gates are passed."""
    decided: bool = False
    """Whether this pass has set `actions`."""
    place: StartPlace | None = None
    """The place where containers are started, once the sandbox exists."""


Step: TypeAlias = Callable[[PodPass], Awaitable[Outcome]]
