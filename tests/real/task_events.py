"""What containerd itself says of its tasks, as it happens.

`ctr events` is kept as the life of each container.

A list that is polled misses short lives; the events miss nothing. The labels of a container are read
when it is created, while it surely exists.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from runtime.cri.client import GrpcCri
from runtime.cri.errors import CriError
from runtime.cri.identity import CONTAINER_NAME, POD_NAME, POD_UID
from runtime.cri.messages import ContainerStatusRequest
from runtime.cri.verbs import CONTAINER_STATUS
from tests.real.containerd import NAMESPACE, Containerd
from tests.real.waiting import until

KIND = "io.cri-containerd.kind"
START_ERROR = "StartError"
_LINE = re.compile(r"(\S+ \d\d:\d\d:\d\d)(\.\d+)? \+0000 UTC \S+ (/\S+) (\{.*\})$")
_ANSWER_S = 120.0


@dataclass
class TaskLife:
    """One container, sandboxes included. Times in ns since 1970, None until they come."""

    id: str
    kind: str
    pod: str
    uid: str
    name: str
    started_ns: int | None = None
    exited_ns: int | None = None
    exit_code: int | None = None
    starts: int = 0
    reason: str = ""
    """Of its end, as the CRI tells it; empty when the container was gone before it could be asked."""

    @property
    def given_up(self) -> bool:
        """If the caller of a start dies, containerd ends the start. The container counts as never started."""
        return self.reason == START_ERROR

    def __str__(self) -> str:
        times = f"started {self.started_ns} exited {self.exited_ns}"
        return f"{self.kind} {self.pod} {self.name} {self.id[:12]}: {times} {self.exit_code} {self.reason}"


class TaskEvents:
    """Lives by container id, kept by a thread. `seen` counts the events."""

    def __init__(self, containerd: Containerd, cri: GrpcCri) -> None:
        self._containerd, self._cri = containerd, cri
        self._lives: dict[str, TaskLife] = {}
        self._lock = threading.Lock()
        self.seen = 0
        self.failure: BaseException | None = None

    def lives(self) -> list[TaskLife]:
        """Of containers, without sandboxes; whatever was read so far."""
        assert self.failure is None, self.failure
        with self._lock:
            return [life for life in self._lives.values() if life.kind == "container"]

    def read(self, lines: Iterator[str]) -> None:
        """Follow the events to their end."""
        try:
            for line in lines:
                found = _LINE.match(line.strip())
                if found is not None:
                    self._take(_ns(found[1], found[2]), found[3], json.loads(found[4]))
                    self.seen += 1
        except BaseException as failure:
            self.failure = failure

    def _take(self, ns: int, topic: str, event: dict[str, object]) -> None:
        if topic == "/containers/create":
            self._created(str(event["id"]))
            return
        life = self._lives.get(str(event.get("container_id")))
        if life is None:
            return
        if topic == "/tasks/start":
            with self._lock:
                life.started_ns, life.starts = ns, life.starts + 1
        elif topic == "/tasks/exit" and event.get("id") == life.id:
            reason = self._reason(life.id) if life.kind == "container" else ""
            with self._lock:
                life.exited_ns, life.exit_code, life.reason = ns, int(str(event.get("exit_status", 0))), reason

    def _created(self, id_: str) -> None:
        try:
            labels = json.loads(self._containerd.ctr("containers", "info", id_))["Labels"]
        except AssertionError:
            labels = {}  # its creation was given up at once
        with self._lock:
            pod, uid, name = (labels.get(each, "") for each in (POD_NAME, POD_UID, CONTAINER_NAME))
            self._lives[id_] = TaskLife(id_, labels.get(KIND, ""), pod, uid, name)

    def _reason(self, id_: str) -> str:
        """containerd sets it a moment after the event."""
        found: list[str] = []

        def told() -> bool:
            try:
                status = (
                    self._cri.call(CONTAINER_STATUS, ContainerStatusRequest(container_id=id_)).result(_ANSWER_S).status
                )
            except CriError as failure:
                if failure.not_found:
                    return True
                raise
            if status is not None and status.finished_at:
                found.append(status.reason)
            return bool(found)

        until(told, _ANSWER_S, f"the CRI does not say how {id_} ended")
        return found[0] if found else ""


@contextmanager
def task_events(containerd: Containerd) -> Iterator[TaskEvents]:
    """Everything from now on."""
    command = ["ctr", "--address", str(containerd.socket), "--namespace", NAMESPACE, "events"]
    with containerd.connect() as cri, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        events = TaskEvents(containerd, cri)
        thread = threading.Thread(target=events.read, args=(iter(process.stdout),), name="task-events")
        thread.start()
        try:
            # Subscribed or not cannot be asked, so something is done until it shows.
            until(lambda: _noticed(containerd, events), _ANSWER_S, "no event of containerd comes")
            yield events
        finally:
            process.kill()
            thread.join()


def _noticed(containerd: Containerd, events: TaskEvents) -> bool:
    containerd.ctr("namespaces", "label", NAMESPACE, "actorlet.test/noticed=yes")
    return events.seen > 0


def _ns(seconds: str, fraction: str | None) -> int:
    whole = int(datetime.fromisoformat(seconds).replace(tzinfo=UTC).timestamp())
    return whole * 10**9 + int((fraction or ".0")[1:].ljust(9, "0"))
