"""A containerd of our own: private directories, socket, bridge and images.

Nothing of it is left afterwards.

Root and state, runc's root, the network namespaces and the addresses in use all lie in one temporary directory. The
sandbox image is busybox asleep, so nothing comes from any network. `oom_score_adj` is only ever raised
(`restrict_oom_score_adj`), because lowering it takes a capability that containers and CI machines do not have.
Everybody may walk through that directory, since the root of a pod with its own users is nobody here.

`stop` ends the pods through containerd where it can. It ends the rest (shims, processes, mounts, the bridge, cgroups)
by pid and by path. So a killed containerd or a failed test leaves nothing either.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from runtime.cri import CriError
from runtime.cri.client import GrpcCri
from runtime.cri.messages import (
    ContainerStatusRequest,
    ImageSpec,
    ImageStatusRequest,
    ListPodSandboxRequest,
    RemovePodSandboxRequest,
    StatusRequest,
    StopPodSandboxRequest,
    VersionRequest,
)
from runtime.cri.readiness import troubles, version_fault
from runtime.cri.verbs import (
    CONTAINER_STATUS,
    IMAGE_STATUS,
    LIST_POD_SANDBOX,
    REMOVE_POD_SANDBOX,
    STATUS,
    STOP_POD_SANDBOX,
    VERSION,
)
from tests.real.components import CNI_DIRECTORY
from tests.real.images import PAUSE, Image, archive
from tests.real.waiting import until

NAMESPACE = "k8s.io"
_START_S = 120.0
_CGROUPS = Path("/sys/fs/cgroup")
_HOST_PORTS = "CNI-HOSTPORT-"
_FORGOTTEN = "failed to get task pid: context canceled"
_NOT_CLEANED = "marking sandbox state as SANDBOX_UNKNOWN"
_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")


def is_ready(cri: GrpcCri) -> bool:
    """Whether it speaks our version, can run containers and gives pods a network. Raises CriError."""
    version = cri.call(VERSION, VersionRequest()).result(20)
    return not version_fault(version) and not any(troubles(cri.call(STATUS, StatusRequest()).result(20)))


class Containerd:
    """A containerd that runs from `start` to `kill` or `stop`.

    `cgroup_parent` is for the pods of the tests.

    `programs` is a directory with another containerd, shim, runc and ctr than the machine's.
    """

    def __init__(self, programs: Path | None = None) -> None:
        path = os.environ.get("PATH", os.defpath)
        self._knows_cdi = programs is not None
        self._path = f"{path if programs is None else f'{programs}:{path}'}:/usr/sbin:/sbin"
        self.directory = Path(tempfile.mkdtemp(prefix="actorlet-real-"))
        self.directory.chmod(0o711)
        self.socket = self.directory / "containerd.sock"
        self.endpoint = f"unix://{self.socket}"
        self.log = self.directory / "containerd.log"
        self.pod_logs = self.directory / "pod-logs"
        self.pod_logs.mkdir()
        self.cdi = self.directory / "cdi"
        """Where files about CDI devices go; containerd 1.6 does not read them."""
        self.cdi.mkdir()
        self.cgroup_parent = f"/{self.directory.name}"
        self.bridge = f"act-{self.directory.name[-8:]}"
        self._shared_cgroups = {*_CGROUPS.glob(NAMESPACE), *_CGROUPS.glob(f"*/{NAMESPACE}")}
        self._process: subprocess.Popen[bytes] | None = None
        self._forwarding = _FORWARDING.read_text()
        self._had_host_ports = any(_HOST_PORTS in rule for rule in nat_rules())
        self._subnet, self._claim = _claimed_subnet()
        self._configure()

    # --- life

    def start(self) -> None:
        """Start, and return once pods can be run. Also after `kill`, with everything it had."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["containerd", "--config", str(self.directory / "config.toml")],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
            )
        with self.connect() as cri:
            until(lambda: self._ready(cri), _START_S, lambda: f"containerd is not ready: {self.tail()}")

    def kill(self) -> None:
        """SIGKILL. The containers run on."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def hang(self) -> None:
        """It answers nobody, until `go_on`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """After `hang`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": self._path}

    def stop(self) -> None:
        """End everything and remove every trace."""
        with contextlib.suppress(CriError, AssertionError):
            if self.alive:
                self.remove_pods()
        if self._process is not None and self.alive:
            self._process.terminate()
            try:
                self._process.wait(120)
            except subprocess.TimeoutExpired:
                self.kill()
        self._end_processes()
        self._unmount()
        if Path(f"/sys/class/net/{self.bridge}").exists():
            subprocess.run(["ip", "link", "delete", self.bridge], check=False)
        _FORWARDING.write_text(self._forwarding)
        self._remove_rules()
        self._remove_cgroups()
        self._claim.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _ready(self, cri: GrpcCri) -> bool:
        assert self.alive, f"containerd has ended: {self.tail()}"
        try:
            return is_ready(cri)
        except CriError:
            return False

    # --- use

    def connect(self) -> GrpcCri:
        """A client of its own."""
        return GrpcCri(self.endpoint)

    def ctr(self, *arguments: str) -> str:
        """What `ctr` says in the namespace of the CRI."""
        done = subprocess.run(
            ["ctr", "--address", str(self.socket), "--namespace", NAMESPACE, *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=self._environment,
        )
        assert done.returncode == 0, f"ctr {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def load(self, images: list[Image]) -> None:
        """Import images and wait until the CRI knows them."""
        path = self.directory / "images.tar"
        archive(images, path)
        self.ctr("images", "import", str(path))
        path.unlink()
        with self.connect() as cri:
            for image in images:
                request = ImageStatusRequest(image=ImageSpec(image=image.name))
                known = partial(self._known, cri, request)
                until(known, 20, f"{image.name} is not known to the CRI")

    @staticmethod
    def _known(cri: GrpcCri, request: ImageStatusRequest) -> bool:
        return cri.call(IMAGE_STATUS, request).result(120).image is not None

    def mirror(self, host: str, address: str) -> None:
        """Pulls from `host` go to the plain HTTP registry at `address`, from now on."""
        directory = self.directory / "hosts" / host
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "hosts.toml").write_text(
            f'server = "http://{address}"\n[host."http://{address}"]\n  capabilities = ["pull", "resolve"]\n'
        )

    def remove_pods(self) -> None:
        """End and remove every pod.

        Repeated while containerd refuses: somebody else may be ending the same pod.
        """
        refused: list[CriError] = []

        def removed() -> bool:
            try:
                self._remove_pods()
            except CriError as error:
                refused.append(error)
                self._end_forgotten_task(str(error))
                return False
            return True

        until(removed, 60, lambda: f"pods cannot be removed: {refused[-1]}")

    def end_forgotten_tasks(self) -> int:
        """containerd 1.6 forgets a task when the caller of StartContainer dies while it is asked for its pid.

        The container then counts as exited (StartError), and its process never goes beyond `runc init`. The CRI refuses
        to remove it until containerd starts again. This ends just these tasks, and returns how many there were.
        """
        tasks = {line.split()[0] for line in self.ctr("tasks", "ls").splitlines()[1:] if line.strip()}
        forgotten = 0
        with self.connect() as cri:
            for id_ in tasks:
                with contextlib.suppress(CriError):  # a sandbox, or gone
                    status = cri.call(CONTAINER_STATUS, ContainerStatusRequest(container_id=id_)).result(60).status
                    if status is not None and _FORGOTTEN in status.message:
                        self.ctr("tasks", "delete", "--force", id_)
                        forgotten += 1
        return forgotten

    def _end_forgotten_task(self, refusal: str) -> None:
        """If a pod is stopped while a container starts, containerd 1.6 may take the container for ended.

        Its CRI then refuses to remove it as long as it has a task, even if the process has ended.
        """
        found = re.search(r"cannot delete running task (\w+)", refusal)
        if found is not None:
            with contextlib.suppress(AssertionError):  # somebody else was faster: the next refusal would tell
                self.ctr("tasks", "delete", "--force", found[1])

    def _remove_pods(self) -> None:
        with self.connect() as cri:
            pods = cri.call(LIST_POD_SANDBOX, ListPodSandboxRequest()).result(60).items
            ids = [pod.id for pod in pods]
            stops = [cri.call(STOP_POD_SANDBOX, StopPodSandboxRequest(pod_sandbox_id=id_)) for id_ in ids]
            for stop in stops:
                stop.result(60)
            removals = [cri.call(REMOVE_POD_SANDBOX, RemovePodSandboxRequest(pod_sandbox_id=id_)) for id_ in ids]
            for removal in removals:
                removal.result(60)

    def gave_up_sandbox(self, sandbox_id: str) -> bool:
        """Whether it keeps this sandbox only because it could not clean up after its caller had died."""
        lines = self.log.read_text(errors="replace").splitlines()
        return any(_NOT_CLEANED in line and sandbox_id in line for line in lines)

    def tail(self) -> str:
        """The last lines of containerd's log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])

    # --- set-up

    def _configure(self) -> None:
        network = self.directory / "cni"
        network.mkdir()
        (network / "10-actorlet.conflist").write_text(json.dumps(self._network()))
        (self.directory / "config.toml").write_text(self._config(network))

    def _network(self) -> dict[str, Any]:
        return {
            "cniVersion": "0.4.0",
            "name": self.bridge,
            "plugins": [
                {
                    "type": "bridge",
                    "bridge": self.bridge,
                    "isGateway": True,
                    "hairpinMode": True,
                    "ipam": {
                        "type": "host-local",
                        "dataDir": str(self.directory / "addresses"),
                        "ranges": [[{"subnet": self._subnet}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }

    def _config(self, network: Path) -> str:
        here = self.directory
        cri = 'plugins."io.containerd.grpc.v1.cri"'
        devices = f'enable_cdi = true\n  cdi_spec_dirs = ["{self.cdi}"]' if self._knows_cdi else ""
        return f"""version = 2
root = "{here}/root"
state = "{here}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "{self.socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{here}/opt"
[{cri}]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  {devices}
  disable_apparmor = {str(not Path("/sys/kernel/security/apparmor").exists()).lower()}
[{cri}.cni]
  bin_dir = "{CNI_DIRECTORY}"
  conf_dir = "{network}"
[{cri}.registry]
  config_path = "{here}/hosts"
[{cri}.containerd]
  snapshotter = "{_snapshotter(here)}"
[{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[{cri}.containerd.runtimes.runc.options]
  Root = "{here}/runc"
"""

    # --- clearing away

    def _end_processes(self) -> None:
        """Shims of this containerd know its socket, their containers are in cgroups of ours or below a shim."""
        address = os.fsencode(self.socket)
        parents = {pid: parent for pid, parent, _ in _processes()}
        ours = {pid for pid, _, command in _processes() if b"containerd-shim" in command and address in command}
        for pid in parents:
            above = parents[pid]
            while above in parents and above not in ours:
                above = parents[above]
            if above in ours:
                _end(pid)
        for pid in ours:
            _end(pid)
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in ours), 10, "shims do not end")

    def _unmount(self) -> None:
        points = [line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for point in reversed(points):
            if point.startswith(f"{self.directory}/"):
                subprocess.run(["umount", "--lazy", point], check=False)

    def _remove_rules(self) -> None:
        """Remove the host ports of pods that could not be stopped.

        Also the chains of the portmap plugin if it made them for us.
        """
        for rule in nat_rules():
            if self.bridge in rule and rule.startswith("-A"):
                chain = shlex.split(rule)[-1]
                _nat("-D", *shlex.split(rule)[1:])
                _nat("-F", chain)
                _nat("-X", chain)
        rules = nat_rules()
        if self._had_host_ports or any(rule.startswith("-N CNI-DN-") for rule in rules):
            return
        for rule in rules:
            if rule.startswith("-A") and f"-j {_HOST_PORTS}" in rule:
                _nat("-D", *shlex.split(rule)[1:])
        chains = [rule.split()[1] for rule in rules if rule.startswith(f"-N {_HOST_PORTS}")]
        for flag in ("-F", "-X"):
            for chain in chains:
                _nat(flag, chain)

    def _remove_cgroups(self) -> None:
        # `walk` minds no directory that goes meanwhile: other tests take down theirs beside ours.
        parents = [Path(above, name) for above, names, _ in os.walk(_CGROUPS) for name in names]
        for parent in (each for each in parents if each.name == self.directory.name):
            for directory, _, _ in os.walk(parent, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(directory)
        # Where pods without a cgroup of their own go. Others may be using it: then it is not empty.
        for shared in (*_CGROUPS.glob(NAMESPACE), *_CGROUPS.glob(f"*/{NAMESPACE}")):
            if shared not in self._shared_cgroups:
                with contextlib.suppress(OSError):
                    shared.rmdir()


def nat_rules() -> list[str]:
    """The address translation rules of this machine, as `iptables -S` writes them."""
    return _nat("-S").splitlines()


def _nat(*arguments: str) -> str:
    command = ["iptables", "--wait", "--table", "nat", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


def _claimed_subnet() -> tuple[str, socket.socket]:
    """A network of 10.213.0.0/16 for nobody else on this machine until the socket is closed.

    A bridge has its address only from the first pod on. So the claim is a name of a socket, which other processes see.
    """
    taken = subprocess.run(["ip", "-4", "-o", "address"], check=True, capture_output=True, text=True).stdout
    for third in random.sample(range(256), 256):
        net = f"10.213.{third}."
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0actorlet-test-net-{net}")
        except OSError:
            claim.close()
            continue
        if f" {net}" not in taken:
            return f"{net}0/24", claim
        claim.close()
    raise AssertionError("each network of 10.213.0.0/16 is in use; remove the bridges act-* that nobody needs")


def _processes() -> list[tuple[int, int, bytes]]:
    """Every process: pid, pid of its parent, command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                found.append((int(entry.name), int(parent), (entry / "cmdline").read_bytes()))
    return found


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _snapshotter(directory: Path) -> str:
    """Overlayfs where the kernel lets us, which it does not on top of another overlay; else plain copies."""
    parts = {name: directory / f"try-{name}" for name in ("lower", "upper", "work", "merged")}
    for part in parts.values():
        part.mkdir()
    options = f"lowerdir={parts['lower']},upperdir={parts['upper']},workdir={parts['work']}"
    command = ["mount", "-t", "overlay", "overlay", "-o", options, str(parts["merged"])]
    works = subprocess.run(command, check=False, capture_output=True).returncode == 0
    if works:
        subprocess.run(["umount", str(parts["merged"])], check=True)
    for part in parts.values():
        shutil.rmtree(part)
    return "overlayfs" if works else "native"
