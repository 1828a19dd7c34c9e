"""`IslandActor`: remembers what the API server said last, for a start while it is away.

It owns the memory and its file. Readers of the API tell it what they read. While none of the node's pods has been
listed since the agent began, it answers what is remembered (`Recalled`), if `rules.py` allows it. From the first list
on the API server's word counts, and nothing is recalled any more.

The file is written a second after a change of what is desired, and at once when a pod has ended. Otherwise it is
written only so often that it tells when the API server agreed last. A change of a status is no reason. While the API
server is away, the file keeps the time and the boot of the last agreement. So an outage with many reboots does not make
it younger.

The disk may hang: then nothing is started from memory, and the pods of the API server start as on any node.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from actors.island.memory import Memory, bare_node, encoded, kept, memory_in
from actors.island.rules import age_of, refusal
from actors.kernel import Actor, ActorRef, Message, handles
from actors.messages.events import pod_event
from actors.messages.history import HistoryKind, note_of
from actors.messages.island import (
    IslandObserved,
    IslandStarted,
    IslandState,
    NodeRecalled,
    ObjectSeen,
    PodEnded,
    Recall,
    Recalled,
    Remembered,
    ServerHeard,
    SetObject,
    SetSeen,
    SingleObject,
    TellIsland,
    TokensStarted,
    kind_of,
)
from actors.messages.node import NodeStatusStarted
from actors.messages.pods import NodeObserved
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.sources.pod_changes import differs_in_meaning
from config.island import IslandSettings
from config.objects import Node, PersistentVolume, PersistentVolumeClaim, Pod, Secret
from config.pods.identity import has_ended
from config.values.ages import spoken
from runtime.files.state_file import UnreadableStateError
from runtime.host.facts import HostFacts
from runtime.metrics.meters import Meters
from runtime.metrics.own import ISLAND_PODS
from runtime.state.opaque_file import OpaqueFile

SECOND_NS = 1_000_000_000
DISK_NS = 15 * SECOND_NS
SAVE_NS = SECOND_NS
"""From a change to its write: many come together."""
SAVE_AGAIN_NS = 30 * SECOND_NS
AGREEMENTS_PER_AGE = 12
"""How often the time of the last agreement is written within the allowed age, without another change."""
POD = Pod.__name__
CLAIMS = (PersistentVolumeClaim.__name__, PersistentVolume.__name__)


class ReadMemory(msgspec.Struct, frozen=True):
    """What the disk has: the memory (None: none), the boot of this machine, and why the file is of no use."""

    memory: Memory | None
    boot_id: str
    fault: str = ""


class MemoryRead(Message, frozen=True):
    """To itself: the file was read, or could not be."""

    read: ReadMemory | None
    error: str


class SaveMemory(Message, frozen=True):
    """To itself: time to write the file."""


class MemorySaved(Message, frozen=True):
    """To itself: a write has ended. `claims`: keys of the claims and volumes that pods still need."""

    claims: frozenset[tuple[str, str, str]] | None
    error: str


class IslandTools(msgspec.Struct, frozen=True):
    """What the actor uses. `tellers`: actors that tell what they read, and tell it again when asked."""

    file: OpaqueFile
    host: HostFacts
    meters: Meters
    events: ActorRef
    historian: ActorRef
    node_status: ActorRef
    tokens: ActorRef
    tellers: tuple[ActorRef, ...]


class IslandActor(Actor):
    """See the module."""

    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, settings: IslandSettings, tools: IslandTools) -> None:
        super().__init__()
        self._settings = settings
        self._tools = tools
        self._read: ReadMemory | None = None
        """None until the file was read."""
        self._asking: dict[str, Recall] = {}
        """Readers that wait for that, by path."""
        self._sets: dict[str, tuple[SetObject, ...]] = {}
        self._pods: dict[str, Pod] = {}
        """By UID, as the API server told them last in this life."""
        self._singles: dict[tuple[str, str, str], SingleObject] = {}
        self._gone: set[tuple[str, str, str]] = set()
        """Objects that went before the file was read."""
        self._node: Node | None = None
        self._ended: set[str] = set()
        """UIDs of pods that have run to their end, though the API server may not know."""
        self._agreed_wall_ns = 0
        self._saved_agreement_wall_ns = 0
        self._listed = False
        """The API server has told its pods in this life of the agent."""
        self._offered: frozenset[str] | None = None
        """UIDs of the pods told from memory; None: none are."""
        self._refusal = ""
        self._saving = False
        self._due_ns: int | None = None
        """When the file is written next."""
        self._unsaved = False
        """There is something to write, and no timer for it."""

    def on_start(self) -> None:
        self._disk = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        file, host = self._tools.file, self._tools.host
        self.attempt(lambda: self._disk.submit("island", read_memory, file, host, deadline_ns=DISK_NS), MemoryRead)
        self._tools.meters.put(ISLAND_PODS, 0)
        for teller in self._tools.tellers:
            teller.tell(IslandStarted())

    # --- reading ----------------------------------------------------------------------------------------------------

    @handles(MemoryRead)
    def memory_read(self, message: MemoryRead) -> None:
        """Work: one reference to each remembered object."""
        read = self._read = message.read or ReadMemory(None, "", message.error)
        if read.fault:
            self.log.warning("what the API server said last cannot be read: %s", read.fault)
        memory = read.memory
        if memory is not None:
            self._take(memory)
        self._tell_node()
        asking, self._asking = self._asking, {}
        for asked in asking.values():
            self.recall(asked)
        if self._unsaved:
            self._save_soon(0)

    def _take(self, memory: Memory) -> None:
        """What was told in this life is newer."""
        self._agreed_wall_ns = self._agreed_wall_ns or memory.agreed_wall_ns
        self._node = self._node or memory.node
        found: dict[str, list[SetObject]] = {}
        for each in memory.objects:
            if isinstance(each, SingleObject):
                key = (kind_of(each), each.metadata.namespace, each.metadata.name)
                if key not in self._gone:
                    self._singles.setdefault(key, each)
            else:
                found.setdefault(kind_of(each), []).append(each)
        self._gone.clear()
        for kind, objects in found.items():
            self._sets.setdefault(kind, tuple(objects))

    def _tell_node(self) -> None:
        memory = None if self._read is None else self._read.memory
        self._tools.node_status.tell(NodeRecalled(None if memory is None else memory.node))

    @handles(NodeStatusStarted)
    def node_status_started(self, _: NodeStatusStarted) -> None:
        """Work: constant."""
        if self._read is not None:
            self._tell_node()

    @handles(Recall)
    def recall(self, message: Recall) -> None:
        """Work: one reference to each remembered object."""
        read = self._read
        if read is None:
            self._asking[message.reader.path] = message
        elif not self._listed and self._may_recall(read):
            found: list[Remembered] = []
            if POD in message.kinds:
                found += self._offer()
            found += [each for kind in message.kinds if kind != POD for each in self._sets.get(kind, ())]
            found += [each for each in self._singles.values() if kind_of(each) in message.kinds]
            message.reader.tell(Recalled(message.kinds, tuple(found), self._agreed_wall_ns))

    def _may_recall(self, read: ReadMemory) -> bool:
        """Once it was allowed, it stays so: what runs is not taken back."""
        if self._offered is not None:
            return True
        if read.memory is None:
            why = f"the memory cannot be read: {read.fault}" if read.fault else "nothing is remembered"
        else:
            why = age_of(self._agreed_wall_ns, self.wall_ns(), self._settings.max_age_ns).refusal
        if why and why != self._refusal:
            self.log.warning("the API server is away, and nothing is started from memory: %s", why)
        self._refusal = why
        return not why

    def _offer(self) -> tuple[Pod, ...]:
        """The pods that may be started. The first time people hear of it."""
        pods = tuple(
            each
            for each in self._sets.get(POD, ())
            if isinstance(each, Pod) and not refusal(each) and self._may_offer(each.metadata.uid)
        )
        if self._offered is None:
            self._offered = frozenset(pod.metadata.uid for pod in pods)
            age = spoken(age_of(self._agreed_wall_ns, self.wall_ns(), self._settings.max_age_ns).ns)
            self.log.warning("the API server is away: pods are desired as it said %s ago: %d", age, len(pods))
            self._tools.meters.put(ISLAND_PODS, len(pods))
            for pod in pods:
                text = f"the API server is away, so the pod is desired from memory: as it was {age} ago"
                self._tools.events.tell(pod_event(pod, "Warning", "StartedFromMemory", text))
                self._tools.historian.tell(
                    note_of(pod, HistoryKind.EVENT, f"StartedFromMemory: {text}", "", self.wall_ns())
                )
            self.tell_tokens(TokensStarted())
        return pods

    @handles(TokensStarted)
    def tell_tokens(self, _: TokensStarted) -> None:
        """Work: constant."""
        read, alone = self._read, self._offered is not None
        before = "" if read is None or read.memory is None else read.memory.boot_id
        rebooted = read is not None and bool(read.boot_id) and read.boot_id != before
        self._tools.tokens.tell(IslandObserved(alone, alone and rebooted and self._settings.omits_tokens))

    def _may_offer(self, uid: str) -> bool:
        """A pod that has ended since it was told stays: its end is still to be told to the API server."""
        return uid not in self._ended or (self._offered is not None and uid in self._offered)

    # --- what readers tell ------------------------------------------------------------------------------------------

    @handles(SetSeen)
    def set_seen(self, message: SetSeen) -> None:
        """Work: one reference to each object; pods that came anew are compared as a whole."""
        before, self._sets[message.kind] = self._sets.get(message.kind), message.objects
        if message.kind == POD:
            self._pods_seen(message)
        elif before != message.objects:
            self._save_soon(SAVE_NS)

    def _pods_seen(self, message: SetSeen) -> None:
        before = self._pods
        pods = self._pods = {each.metadata.uid: each for each in message.objects if isinstance(each, Pod)}
        self._ended &= pods.keys()
        changed = not self._listed or _differ(before, pods)
        if not self._listed:
            self._listed = True
            self._reunite()
        self._agreed_wall_ns = self.wall_ns()
        if changed:
            self._save_soon(SAVE_NS)
        else:
            self.server_heard(ServerHeard())

    def _reunite(self) -> None:
        """The API server is back: its word counts."""
        if self._offered is not None:
            self.log.info("the API server has told its pods: nothing is desired from memory any more")
            self._tools.meters.put(ISLAND_PODS, 0)
        self._offered, self._refusal = None, ""
        self.tell_tokens(TokensStarted())

    @handles(ObjectSeen)
    def object_seen(self, message: ObjectSeen) -> None:
        """Work: one object."""
        if message.kind == Secret.__name__ and not self._settings.keep_secrets:
            return
        key = (message.kind, message.namespace, message.name)
        before = self._singles.get(key)
        if message.value is None:
            self._singles.pop(key, None)
            if self._read is None:
                self._gone.add(key)
        else:
            self._singles[key] = message.value
        if before != message.value:
            self._save_soon(SAVE_NS)

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Work: constant."""
        before, self._node = self._node, message.node
        if self._listed and (before is None or bare_node(before) != bare_node(message.node)):
            self._save_soon(SAVE_NS)

    @handles(PodEnded)
    def pod_ended(self, message: PodEnded) -> None:
        """Work: constant."""
        if message.uid not in self._ended:
            self._ended.add(message.uid)
            self._save_soon(0)

    @handles(ServerHeard)
    def server_heard(self, _: ServerHeard) -> None:
        """Work: constant."""
        if not self._listed:
            return
        now_ns = self._agreed_wall_ns = self.wall_ns()
        # A clock that was set back is written at once: the memory would look as if it came from the future.
        age_ns = now_ns - self._saved_agreement_wall_ns
        if not 0 <= age_ns < self._settings.max_age_ns // AGREEMENTS_PER_AGE:
            self._save_soon(SAVE_NS)

    # --- writing ----------------------------------------------------------------------------------------------------

    def _save_soon(self, ns: int) -> None:
        due_ns = self.now_ns() + ns
        if self._due_ns is None or due_ns < self._due_ns:
            self._due_ns = due_ns
            self.after(ns, SaveMemory())

    @handles(SaveMemory)
    def save_memory(self, _: SaveMemory) -> None:
        """Work: one reference to each object; the lane does the rest."""
        self._due_ns, read = None, self._read
        if self._saving or read is None:
            self._unsaved = True
            return
        if read.memory is None and not self._listed:
            return
        boot_id = read.boot_id if self._listed or read.memory is None else read.memory.boot_id
        pods = tuple(each for each in self._sets.get(POD, ()) if each.metadata.uid not in self._ended)
        others = tuple(each for kind, objects in self._sets.items() if kind != POD for each in objects)
        memory = Memory(self._agreed_wall_ns, boot_id, (*pods, *others, *self._singles.values()), self._node)
        self._saving, self._unsaved = True, False
        self._saved_agreement_wall_ns = self._agreed_wall_ns
        file, secrets = self._tools.file, self._settings.keep_secrets
        self.attempt(
            lambda: self._disk.submit("island", write_memory, file, memory, secrets, deadline_ns=DISK_NS), MemorySaved
        )

    @handles(MemorySaved)
    def memory_saved(self, message: MemorySaved) -> None:
        """Work: one reference to each claim."""
        self._saving = False
        if message.error:
            self.log.warning("what the API server says cannot be kept for an outage: %s", message.error)
            self._saved_agreement_wall_ns = 0
            self._save_soon(SAVE_AGAIN_NS)
            return
        needed = message.claims or frozenset()
        for key in [key for key in self._singles if key[0] in CLAIMS and key not in needed]:
            del self._singles[key]  # a pod that needs it reads it again
        if self._unsaved:
            self._save_soon(SAVE_NS)

    # --- for people -------------------------------------------------------------------------------------------------

    @handles(TellIsland)
    def tell_island(self, _: TellIsland) -> IslandState:
        """Work: constant."""
        return IslandState(self._offered or frozenset(), self._agreed_wall_ns, self._refusal)


def _differ(before: dict[str, Pod], after: dict[str, Pod]) -> bool:
    """Whether another set of pods, or another pod, would be started from memory."""
    if before.keys() != after.keys():
        return True
    pairs = ((before[uid], pod) for uid, pod in after.items() if before[uid] is not pod)
    return any(has_ended(old) != has_ended(new) or differs_in_meaning(old, new) for old, new in pairs)


# --- on the lane ------------------------------------------------------------------------------------------------------


def read_memory(file: OpaqueFile, host: HostFacts) -> ReadMemory:
    """Read the file, and which boot this is. Raises OSError."""
    boot_id = host.machine().boot_id
    try:
        return ReadMemory(file.load(memory_in), boot_id)
    except UnreadableStateError as fault:
        return ReadMemory(None, boot_id, str(fault))


def write_memory(file: OpaqueFile, memory: Memory, keep_secrets: bool) -> frozenset[tuple[str, str, str]]:
    """Write what is to be kept; the keys of the claims and volumes in it. Raises OSError."""
    chosen = kept(memory, keep_secrets=keep_secrets)
    file.save(encoded(chosen))
    claims = (each for each in chosen.objects if kind_of(each) in CLAIMS)
    return frozenset((kind_of(each), each.metadata.namespace, each.metadata.name) for each in claims)
