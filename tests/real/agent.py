"""The agent as its users run it: a process of its own, `actorlet run`, on the private containerd.

An `Agent` has a directory of its own with everything it writes, its manifests and its output. What it does is seen from
two sides: through its local endpoint (what it says) and through a CRI client of the test (what is true).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from actors.messages.events import RecordedEvent
from actors.messages.pods import SourceProblem
from cli.inspect.local_views import ACTORS, EVENTS, HEALTH, PODS, PROBLEMS, pods_in, report_in
from config.objects import ContainerStatus, Pod, PodStatus
from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.local import LocalCgroups
from runtime.cgroups.names import CGROUPFS, words_of
from runtime.host.machine import cgroup_version
from runtime.http_server.local_endpoint import LocalEndpointError, ask
from runtime.volumes.mounts import KernelMounts
from tests.real.waiting import BUSY, until

TREE = Path(__file__).parents[2]
NODE = "node-1"
CONTAINER_LOGS = Path("/var/log/containers")
CGROUPS = Path("/sys/fs/cgroup")
START_S = 120.0
PATIENCE_S = 120.0


def cgroup_directories(path: str) -> dict[str, Path]:
    """Where a cgroup is, by hierarchy ("" for the one of v2)."""
    tops = {"": CGROUPS} if cgroup_version() == 2 else {each.name: each for each in CGROUPS.iterdir()}
    return {name: top / path.strip("/") for name, top in tops.items() if (top / path.strip("/")).is_dir()}


def make_cgroup(path: str) -> None:
    """As an administrator of the machine would."""
    LocalCgroups(str(CGROUPS), cgroup_version()).apply(words_of(path, CGROUPFS), CgroupLimits())


class Agent:
    """A node agent that runs from `start` to `kill`, `terminate` or `take_down`; it can be started again."""

    def __init__(self, directory: Path, endpoint: str) -> None:
        self.directory = directory
        self.root = directory / "root"
        self.manifests = directory / "manifests"
        self.pod_logs = directory / "pods"
        self.config = directory / "config.json"
        self.output = directory / "output"
        self.endpoint = endpoint
        self.cgroup_root = f"/{directory.parent.name}/{directory.name}"
        """Where its pods have their cgroups; whoever ends the runtime removes all below the first part."""
        for each in (directory, self.root, self.manifests):
            each.mkdir(parents=True, exist_ok=True)
        self.configure()
        self._process: subprocess.Popen[bytes] | None = None
        self.flags: tuple[str, ...] = ()
        """What it was started with last."""
        self.environment: dict[str, str] = {}
        """Of its process, besides that of the tests."""

    # --- life

    def configure(self, **fields: Any) -> None:
        """Write the configuration file; `fields` are those of KubeletConfiguration, under their names there."""
        document = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "staticPodPath": str(self.manifests),
            "podLogsDir": str(self.pod_logs),
            "containerRuntimeEndpoint": self.endpoint,
            # Whatever this machine has: the tests are not about it.
            "failCgroupV1": cgroup_version() != 1,
            "failSwapOn": False,
            # Not where other agents may have theirs.
            "cgroupRoot": self.cgroup_root,
            # Nor does any pod go because this machine is full.
            "evictionHard": {"memory.available": "0%"},
            # Ports are few, and few tests are about them.
            "enableServer": False,
            "healthzPort": 0,
            # The packet filter of this machine is not ours.
            "makeIPTablesUtilChains": False,
            # Full disks of the machine that runs the tests are no reason to remove what other tests need.
            "imageGCHighThresholdPercent": 100,
            **fields,
        }
        self.config.write_text(json.dumps(document))

    def command(self, *flags: str) -> list[str]:
        """What starts it."""
        own = ["--root-dir", str(self.root), "--config", str(self.config), "--hostname-override", NODE]
        return [sys.executable, "-m", "actorlet", "run", *own, *flags]

    def begin(self, *flags: str, command: list[str] | None = None) -> None:
        """Start without waiting for anything. Its output goes on in the same file."""
        assert not self.alive
        self.flags = flags
        make_cgroup(self.cgroup_root)
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                command or self.command(*flags),
                cwd=TREE,
                env={**os.environ, **self.environment},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def start(self, *flags: str, command: list[str] | None = None) -> None:
        """Start, and return once it answers at its endpoint."""
        self.begin(*flags, command=command)
        self.await_answer()

    def await_answer(self) -> None:
        """Return once it answers at its endpoint."""
        until(self._answers, START_S, lambda: f"the agent does not answer: {self.said()[-2000:]}")

    def kill(self) -> None:
        """SIGKILL."""
        self._process_().kill()
        self._process_().wait()

    def terminate(self) -> int:
        """SIGTERM; its exit status."""
        self._process_().terminate()
        return self._process_().wait(30 * BUSY)

    def ended_within(self, seconds: float) -> bool:
        """Give it so much time, less when it ends before."""
        try:
            self._process_().wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def ran(self, *flags: str) -> subprocess.CompletedProcess[str]:
        """Run the same command as another process, which ends by itself."""
        return subprocess.run(
            self.command(*flags), cwd=TREE, capture_output=True, text=True, timeout=60 * BUSY, check=False
        )

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process_().pid

    def take_down(self) -> None:
        """End it without ceremony, and remove what it has left outside of its directory."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)
            self.kill()
        for link in self.log_links():
            link.unlink(missing_ok=True)
        mounts = KernelMounts()
        for point in mounts.below(str(self.root)):
            mounts.unmount(point, detach=True)

    def said(self) -> str:
        """Everything it has printed."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def _process_(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the agent has not been started"
        return self._process

    def _answers(self) -> bool:
        assert self.alive, f"the agent has ended with {self._process_().returncode}: {self.said()[-3000:]}"
        try:
            return ask(str(self.root), HEALTH, 30).status in (200, 503)
        except LocalEndpointError:
            return False

    # --- what it is told

    def drop(self, file: str, *pods: dict[str, Any]) -> Path:
        """Write a manifest, as `cp` would; several pods make a list."""
        document = pods[0] if len(pods) == 1 else {"apiVersion": "v1", "kind": "PodList", "items": list(pods)}
        path = self.manifests / file
        path.write_text(json.dumps(document, indent=2))
        return path

    # --- what it says

    def _view(self, view: str) -> bytes:
        answer = ask(str(self.root), view, 120)
        assert answer.status == 200, answer.body
        return answer.body

    def pods(self) -> dict[str, Pod]:
        """Its pods by the names in the manifests.

        Of two incarnations of one name the list has the later. None while it begins, and cannot say.
        """
        if ask(str(self.root), PODS, 120).status == 503:
            return {}
        return {pod.metadata.name.removesuffix(f"-{NODE}"): pod for pod in pods_in(self._view(PODS))}

    def pod(self, name: str) -> Pod:
        """One pod; an AssertionError with all names when it is not there."""
        pods = self.pods()
        assert name in pods, f"there is no {name} among {sorted(pods)}"
        return pods[name]

    def status(self, name: str) -> PodStatus:
        """Of a pod; empty while nothing is published, or known of such a pod."""
        pod = self.pods().get(name)
        return PodStatus() if pod is None or pod.status is None else pod.status

    def container(self, pod: str, name: str = "main") -> ContainerStatus | None:
        """The published status of a container, init containers included."""
        status = self.status(pod)
        all_of_them = (*status.init_container_statuses, *status.container_statuses)
        return next((each for each in all_of_them if each.name == name), None)

    def waiting(self, pod: str, name: str = "main") -> tuple[str, str]:
        """Reason and message of a container that waits; empty when it does not."""
        status = self.container(pod, name)
        state = status.state.waiting if status is not None and status.state is not None else None
        return ("", "") if state is None else (state.reason or "", state.message or "")

    def events_of(self, pod: str, reason: str = "") -> list[RecordedEvent]:
        """Events about a pod and its containers, of one reason or of all."""
        found = (each for each in self.events() if each.event.name == f"{pod}-{NODE}")
        return [each for each in found if reason in ("", each.event.reason)]

    def events(self) -> tuple[RecordedEvent, ...]:
        return msgspec.json.decode(self._view(EVENTS), type=tuple[RecordedEvent, ...])

    def handled(self, actor: str) -> int:
        """How many messages one of the node's own actors has handled."""
        report = report_in(self._view(ACTORS))
        return next(each.handled for each in report.actors if each.path == f"/node/{actor}")

    def problems(self) -> tuple[SourceProblem, ...]:
        return msgspec.json.decode(self._view(PROBLEMS), type=tuple[SourceProblem, ...])

    def told(self, command: str, *options: str) -> str:
        """What `actorlet pods` or `actorlet actors` prints of it."""
        line = [sys.executable, "-m", "actorlet", command, "--root-dir", str(self.root), *options]
        done = subprocess.run(line, cwd=TREE, capture_output=True, text=True, timeout=60 * BUSY, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def await_phase(self, phase: str, *names: str, limit_s: float = PATIENCE_S) -> None:
        """Return once every one of these pods has the phase."""

        def phases() -> dict[str, str | None]:
            pods = self.pods()
            found = {name: pods[name].status if name in pods else None for name in names}
            return {name: status.phase if status else None for name, status in found.items()}

        until(
            lambda: all(each == phase for each in phases().values()),
            limit_s,
            lambda: f"{phases()} are not {phase}: {self.troubles()}",
        )

    def await_running(self, *names: str, limit_s: float = PATIENCE_S) -> None:
        self.await_phase("Running", *names, limit_s=limit_s)

    def await_that(self, holds: Callable[[], object], what: str, limit_s: float = PATIENCE_S) -> None:
        """Return once it holds. The failure text has what the agent knows."""
        until(holds, limit_s, lambda: f"{what}: {self.troubles()}")

    def troubles(self) -> str:
        """For messages of failed tests."""
        with contextlib.suppress(LocalEndpointError, AssertionError):
            statuses = {name: msgspec.to_builtins(pod.status) for name, pod in self.pods().items()}
            events = [f"{each.event.reason}: {each.event.message}" for each in self.events()[-12:]]
            return f"{json.dumps(statuses)[:3000]}\n{events}\n{self.said()[-3000:]}"
        return self.said()[-3000:]

    # --- what it leaves on the host

    def cgroup_of(self, *below: str) -> dict[str, Path]:
        """The directories of a cgroup below its root, by hierarchy; where it is there."""
        return cgroup_directories("/".join((self.cgroup_root, *below)))

    def pod_directory(self, uid: str) -> Path:
        return self.root / "pods" / uid

    def log(self, pod: str, name: str = "main", attempt: int = 0) -> list[str]:
        """What a container has written, without times and streams."""
        logs = list(self.pod_logs.glob(f"*_{pod}-{NODE}_*/{name}/{attempt}.log"))
        lines = logs[0].read_text().splitlines() if logs else []
        return [line.split(" ", 3)[3] for line in lines]

    def log_links(self) -> list[Path]:
        """Links for log collectors that lead to logs of this agent's pods."""
        if not CONTAINER_LOGS.is_dir():
            return []
        return [link for link in CONTAINER_LOGS.iterdir() if self._leads_to_our_logs(link)]

    def _leads_to_our_logs(self, link: Path) -> bool:
        """False also for a link that vanishes meanwhile: agents of other tests have links there, too."""
        try:
            return os.readlink(link).startswith(f"{self.pod_logs}/")
        except OSError:  # gone, or no link
            return False
