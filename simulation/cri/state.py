"""The state of the simulated runtime: sandboxes, containers, images, reserved names.

Also the indices over them.

Records change in place, and only under the lock of the runtime that owns the state. What leaves is made of them once
and kept until the record changes (`views`), so unchanged objects are the same objects from list to list. Lookups by
id, by sandbox and by the label `io.kubernetes.pod.uid` cost what they give, not what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from cachetools import FIFOCache

from actors.kernel.promise import Promise
from actors.kernel.timers import Cancellable
from runtime.cri import messages as cri
from runtime.cri.errors import StatusCode
from simulation.cri.behaviour import ContainerBehaviour, PodBehaviour
from simulation.cri.files import LogFile

POD_UID_LABEL = "io.kubernetes.pod.uid"
ID_DIGITS = 64
COUNTED_PODS_MAX = 10_000

R = TypeVar("R", bound="ContainerRecord | SandboxRecord")


class CriRefusal(Exception):  # noqa: N818 - an answer, not a fault of the program
    """A verb is refused with a code and the runtime's words."""

    def __init__(self, code: StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class SandboxRecord(msgspec.Struct, eq=False):
    """One sandbox."""

    id: str
    name: str
    config: cri.PodSandboxConfig
    behaviour: PodBehaviour
    runtime_handler: str
    created_at: int
    ip: str
    network: str
    pod_uid: str
    host_network: bool
    pid: int
    state: cri.PodSandboxState = cri.PodSandboxState.SANDBOX_READY
    network_up: bool = True
    containers: dict[str, ContainerRecord] = msgspec.field(default_factory=dict)
    lost_timer: Cancellable | None = None
    brief: Any = None
    status: Any = None


class ContainerRecord(msgspec.Struct, eq=False):
    """One container. Times are wall-clock ns, 0 for not yet."""

    id: str
    name: str
    sandbox: SandboxRecord
    config: cri.ContainerConfig
    behaviour: ContainerBehaviour
    image: cri.Image
    attempt: int
    created_at: int
    resources: cri.LinuxContainerResources | None
    log_path: str = ""
    """The full path of its log, empty when it has none."""
    state: cri.ContainerState = cri.ContainerState.CONTAINER_CREATED
    pid: int = 0
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    starting: bool = False
    stop_signalled: bool = False
    exit_timer: Cancellable | None = None
    output_timer: Cancellable | None = None
    stop_waiters: list[Promise[Any]] = msgspec.field(default_factory=list)
    execs: int = 0
    hook_calls: list[str] = msgspec.field(default_factory=list)
    """URLs that hooks have called."""
    commands: list[tuple[str, ...]] = msgspec.field(default_factory=list)
    """The commands that ExecSync has run."""
    probes: dict[str, int] = msgspec.field(default_factory=dict)
    """How often it was probed, by kind of probe."""
    log: LogFile | None = None
    brief: Any = None
    status: Any = None
    last_status: Any = None
    """The previous status object, from which the next one is made."""


class ById(dict[str, R]):
    """Records of one kind.

    `[]` takes the unique beginning of an id for the id, and refuses with NOT_FOUND what is not there; all else knows
    whole ids only.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, wanted: str) -> R:
        record = self.by_beginning(wanted)
        if record is None:
            raise CriRefusal(StatusCode.NOT_FOUND, f"there is no {self._kind} {wanted!r}")
        return record

    def by_beginning(self, beginning: str) -> R | None:
        """The one record whose id begins so. A full id is not looked for: it would have been found."""
        if not beginning or len(beginning) >= ID_DIGITS:
            return None
        found = [record for record_id, record in self.items() if record_id.startswith(beginning)]
        return found[0] if len(found) == 1 else None


class RuntimeState:
    """See the module. `version` grows with every change that a list of the runtime would show."""

    def __init__(self) -> None:
        self.version = 0
        self.on_change: Callable[[ContainerRecord], None] | None = None
        """Told of each container that has changed, under the lock: for invariants."""
        self.on_image_removed: Callable[[cri.Image], None] | None = None
        """Told of each image that has gone, in the same way."""
        self.on_container_removed: Callable[[ContainerRecord], None] | None = None
        self.sandboxes: ById[SandboxRecord] = ById("sandbox")
        self.containers: ById[ContainerRecord] = ById("container")
        self.images: dict[str, cri.Image] = {}
        self.image_names: dict[str, str] = {}
        self.names: dict[str, str] = {}
        """The id of what holds a name, of sandboxes and containers alike."""
        self._sandboxes_of: dict[str, dict[str, SandboxRecord]] = {}
        self._containers_of: dict[str, dict[str, ContainerRecord]] = {}
        self._calls: FIFOCache[str, dict[tuple[str, str], int]] = FIFOCache(COUNTED_PODS_MAX)
        self.disturbing: set[str] = set()
        """Ids of the sandboxes whose behaviour disturbs calls: nearly always none."""

    # --- sandboxes and containers -----------------------------------------------------------------------------------

    def add_sandbox(self, record: SandboxRecord) -> None:
        self.version += 1
        self.names[record.name] = record.id
        self.sandboxes[record.id] = record
        self._sandboxes_of.setdefault(record.pod_uid, {})[record.id] = record
        self.behaves(record, record.behaviour)

    def behaves(self, record: SandboxRecord, behaviour: PodBehaviour) -> None:
        """Give a sandbox and its containers another behaviour."""
        record.behaviour = behaviour
        if behaviour.disturbs_calls:
            self.disturbing.add(record.id)
        else:
            self.disturbing.discard(record.id)
        for container in record.containers.values():
            metadata = container.config.metadata
            container.behaviour = behaviour.of(metadata.name if metadata is not None else "")

    def add_container(self, record: ContainerRecord) -> None:
        self.version += 1
        self.names[record.name] = record.id
        self.containers[record.id] = record
        record.sandbox.containers[record.id] = record
        self._containers_of.setdefault(record.config.labels.get(POD_UID_LABEL, ""), {})[record.id] = record

    def drop_sandbox(self, record: SandboxRecord) -> None:
        self.version += 1
        self.names.pop(record.name, None)
        del self.sandboxes[record.id]
        self.disturbing.discard(record.id)
        _drop(self._sandboxes_of, record.pod_uid, record.id)
        if record.pod_uid not in self._sandboxes_of:
            self._calls.pop(record.pod_uid, None)

    def drop_container(self, record: ContainerRecord) -> None:
        self.version += 1
        self.names.pop(record.name, None)
        del self.containers[record.id]
        del record.sandbox.containers[record.id]
        _drop(self._containers_of, record.config.labels.get(POD_UID_LABEL, ""), record.id)
        if self.on_container_removed is not None:
            self.on_container_removed(record)

    def changed(self, record: ContainerRecord | SandboxRecord) -> None:
        """`record` has been changed: what was made of it is made anew when somebody asks."""
        self.version += 1
        record.brief = record.status = None
        if self.on_change is not None and isinstance(record, ContainerRecord):
            self.on_change(record)

    def select_sandboxes(self, sandbox_id: str, labels: Mapping[str, str]) -> list[SandboxRecord]:
        """Sandboxes by id (or its beginning) and labels; empty conditions always hold."""
        return _found(self.sandboxes, self._sandboxes_of, sandbox_id, labels)

    def select_containers(self, container_id: str, sandbox_id: str, labels: Mapping[str, str]) -> list[ContainerRecord]:
        """Containers by id, sandbox (or the beginnings of these) and labels; empty conditions always hold."""
        if not sandbox_id:
            return _found(self.containers, self._containers_of, container_id, labels)
        sandbox = self.sandboxes.get(sandbox_id) or self.sandboxes.by_beginning(sandbox_id)
        pairs = labels.items()
        within = sandbox.containers.values() if sandbox else ()
        found = [record for record in within if pairs <= record.config.labels.items()]
        return [record for record in found if record.id.startswith(container_id)]

    # --- counted calls ----------------------------------------------------------------------------------------------

    def count_call(self, pod_uid: str, container: str, rule: str) -> int:
        """How many calls this rule has met before, for this container of this pod.

        This one is counted from now on.

        Forgotten with the last sandbox of the pod; at most `COUNTED_PODS_MAX` pods are remembered, the oldest go.
        """
        calls = self._calls.setdefault(pod_uid, {})
        before = calls.get((container, rule), 0)
        calls[container, rule] = before + 1
        return before

    # --- images -----------------------------------------------------------------------------------------------------

    def image(self, name: str) -> cri.Image | None:
        """The image of a full name or an id."""
        return self.images.get(self.image_names.get(name, name))

    def add_image(self, image: cri.Image) -> None:
        self.images[image.id] = image
        for name in (*image.repo_tags, *image.repo_digests):
            self.image_names[name] = image.id

    def drop_image(self, image: cri.Image) -> None:
        del self.images[image.id]
        for name in (*image.repo_tags, *image.repo_digests):
            self.image_names.pop(name, None)
        if self.on_image_removed is not None:
            self.on_image_removed(image)


def _drop(index: dict[str, dict[str, R]], key: str, record_id: str) -> None:
    entry = index[key]
    del entry[record_id]
    if not entry:
        del index[key]


def _found(everything: ById[R], by_pod: dict[str, dict[str, R]], wanted: str, labels: Mapping[str, str]) -> list[R]:
    """Records that match an id or its prefix, and labels; empty conditions always match."""
    if wanted:
        record = everything.get(wanted) or everything.by_beginning(wanted)
        found: dict[str, R] = {record.id: record} if record else {}
    else:
        uid = labels.get(POD_UID_LABEL)
        found = everything if uid is None else by_pod.get(uid, {})
    if not labels:
        return list(found.values())
    pairs = labels.items()
    return [record for record in found.values() if pairs <= record.config.labels.items()]
