"""Messages about the CPUs and the memory that pods have for themselves."""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import Message, SoleMessage
from actors.messages.devices import NodeDevices
from actors.model.shares import NO_SHARES, NOTHING, PodShares, Share, ShareBook
from config.objects import Pod
from runtime.host.topology import MachineTopology


class SharesGiven(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: what your pod has for itself.

    It comes before the answer to `AdmitPod`, and again whenever `pool` changes: the CPUs of containers without their
    own. `pool` empty: the runtime chooses. `quota`: containers with CPUs for themselves have a CPU quota all the same.
    `gives_back`: containers give CPUs back; answer with `SharesInForce` once none that runs has them.
    """

    shares: PodShares
    pool: frozenset[int] = frozenset()
    quota: bool = False
    gives_back: bool = False

    def coalesce_key(self) -> Hashable:
        return "shares"


class SharesInForce(Message, frozen=True):
    """PodWorker -> ResourceManagerActor: the running containers of my pod have these CPUs, and no others."""

    uid: str
    shares: PodShares

    def coalesce_key(self) -> Hashable:
        return ("in force", self.uid)


class ListShares(Message, frozen=True):
    """-> ResourceManagerActor: who has what for itself?

    Answered with `NodeShares`; None while that is not known.
    """


class NodeShares(Message, frozen=True):
    """What pods have for themselves, and all that they could have.

    `admitted`: UIDs of the pods that are admitted and have not ended. `allocatable`: all CPUs and memory that may be
    given, of which some is. `pool`: the CPUs that containers share. Without policies only `admitted` and `devices` are
    filled.
    """

    admitted: frozenset[str]
    machine: MachineTopology = MachineTopology()
    book: ShareBook = NO_SHARES
    allocatable: Share = NOTHING
    pool: frozenset[int] = frozenset()
    devices: NodeDevices = NodeDevices()


class CompareCpus(SoleMessage, frozen=True):
    """ResourceManagerActor -> PodWorker: compare the CPUs of your containers with what they should have."""


class ContainerBegins(Message, frozen=True):
    """PodWorker -> ResourceManagerActor: this container starts.

    So the init containers before it have ended.
    """

    pod: Pod
    name: str

    def coalesce_key(self) -> Hashable:
        return ("begins", self.pod.metadata.uid, self.name)
