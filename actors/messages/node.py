"""Messages about the node itself.

Each owner of a part of its state sends it to `NodeStatusActor`, which publishes it.

Each message is a state and replaces the last one of its kind, so it may be sent again at any time.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from actors.kernel import Message, SoleMessage
from config.objects import Node
from runtime.cri.messages import Image, RuntimeFeatures, RuntimeHandler
from runtime.host.machine import MachineFacts
from runtime.host.network import NetworkFacts


class NodeStatusStarted(SoleMessage, frozen=True):
    """NodeStatusActor -> senders that report only changes: I know nothing (any more).

    Send your state again.
    """


class RuntimeDescribed(SoleMessage, frozen=True):
    """RuntimeMonitorActor -> NodeStatusActor: which runtime this is, and what it is able to do."""

    name: str
    version: str
    handlers: tuple[RuntimeHandler, ...] = ()
    features: RuntimeFeatures | None = None


class RuntimeListed(SoleMessage, frozen=True):
    """PlegActor -> NodeStatusActor: what the runtime runs has been listed, at that monotonic time."""

    at_ns: int


class NodePressureObserved(SoleMessage, frozen=True):
    """EvictionActor -> NodeStatusActor, SyncLoopActor: what the node is short of now (spec 7.2)."""

    memory: bool = False
    disk: bool = False
    pid: bool = False


class RefusedOwner(msgspec.Struct, frozen=True):
    """An owner whose pods this node refuses again and again. `name`: with its namespace.

    `at_least`: so many pods in a row. `pod`: the name of one of them, which had this reason and message.
    """

    kind: str
    name: str
    at_least: int
    pod: str
    reason: str
    message: str


class RefusedOwnersObserved(SoleMessage, frozen=True):
    """ResourceManagerActor -> NodeStatusActor: the owners whose pods are refused now, again and again.

    The last refused is last.
    """

    owners: tuple[RefusedOwner, ...] = ()


class NodeProblemObserved(Message, frozen=True):
    """ShutdownActor, CsiNodeActor -> NodeStatusActor: the reason of `source` why the node is not ready.

    An empty reason withdraws it. Sources are a shutdown, and storage that is not there (spec 2.12, 9.7).

    `starting`: the source has only begun. That keeps a new node from being Ready, and takes Ready from no other.
    """

    source: str
    reason: str
    starting: bool = False

    def coalesce_key(self) -> Hashable:
        return self.source


class ImagesChanged(SoleMessage, frozen=True):
    """ImagePullActor, ImageGCActor -> NodeStatusActor -> NodeSurveyActor: images have come or gone.

    List them at the next look.
    """


class MachineObserved(SoleMessage, frozen=True):
    """NodeSurveyActor -> NodeStatusActor: what the machine is."""

    machine: MachineFacts


class NetworkObserved(SoleMessage, frozen=True):
    """NodeSurveyActor -> NodeStatusActor: the machine's network, and what the node's name resolves to."""

    network: NetworkFacts


class DiskObserved(SoleMessage, frozen=True):
    """NodeSurveyActor -> NodeStatusActor: the size of the file system that pods live on."""

    size_bytes: int


class ImagesObserved(SoleMessage, frozen=True):
    """NodeSurveyActor -> NodeStatusActor: the images of the runtime."""

    images: tuple[Image, ...]


class SurveyAgain(SoleMessage, frozen=True):
    """NodeStatusActor -> NodeSurveyActor: I know nothing (any more); look at everything."""


class NodeSeen(SoleMessage, frozen=True):
    """NodeWatchActor -> NodeStatusActor: the Node object as the API shows it; None: there is none.

    Not `live`: changes are not heard of now, and nothing is known.
    """

    node: Node | None
    live: bool = True


class SayNodeAgain(SoleMessage, frozen=True):
    """NodeStatusActor -> NodeWatchActor: I know nothing (any more); say what there is."""


class TellConditions(Message, frozen=True):
    """Edge -> NodeStatusActor (ask): what the node's conditions should say, as `tuple[Verdict, ...]`.

    None before the first look.
    """


class VolumesInUseObserved(SoleMessage, frozen=True):
    """VolumeReconcilerActor -> NodeStatusActor: the attached volumes that must not be detached now.

    Their unique names.

    Not `complete`: it does not know yet what an earlier agent has left; what the Node object names stays named.
    """

    names: tuple[str, ...]
    complete: bool = True
