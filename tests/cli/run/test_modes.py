"""Who may read what the agent leaves on disk.

Each file and directory below its root directory has an owner and a mode.

A real agent, with real volumes, on a simulated runtime and with an API server. It runs without a umask, so that each
mode is one that the agent has chosen. Nothing may be there that the table does not know.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from cli.run.node_start import open_lines
from cli.simulated.embedded_api import ApiServerOptions, EmbeddedApi, embedded_api
from config.api.resources import CONFIG_MAPS, PODS, SECRETS
from config.kubelet import KubeletConfiguration
from runtime.api import Api, get
from runtime.api.access import read_access
from runtime.api.calls import create_unread, delete
from runtime.io.event_loop import LoopThread
from runtime.volumes.mounts import KernelMounts
from simulation.cri.behaviour import PREFIX
from tests.cli.run.test_command import PATIENCE_S, ROOT, actorlet, flags
from tests.ports import free_ports
from tests.real.waiting import until

UID, HEX, VERSION = "[0-9a-f-]{36}", "[0-9a-f]{8}", r"\.\.[0-9_]+\.[a-z0-9_]+"
VOLUME = f"pods/{UID}/volumes/kubernetes.io~"
USER = 1234

EXPECTED: dict[str, tuple[str, int]] = {
    # The root directory and what is in it.
    "": ("directory", 0o750),
    r"actorlet\.sock": ("socket", 0o600),
    "actuated_pods_state": ("file", 0o600),
    "allocated_pods_state": ("file", 0o600),
    "device-plugins": ("directory", 0o750),
    r"device-plugins/kubelet\.sock": ("socket", 0o755),
    "evictions": ("file", 0o600),
    "graceful_node_shutdown_state": ("file", 0o600),
    "image_manager(/pulled|/pulling)?": ("directory", 0o700),
    "image_manager/(pulled|pulling)/sha256-[0-9a-f]{64}": ("file", 0o600),
    "plugins_registry": ("directory", 0o750),
    "pod-resources": ("directory", 0o750),
    r"pod-resources/kubelet\.sock": ("socket", 0o755),
    "pki": ("directory", 0o755),
    r"pki/kubelet\.crt": ("file", 0o644),
    r"pki/kubelet\.key": ("file", 0o600),
    # Pods.
    "pods": ("directory", 0o750),
    f"pods/{UID}": ("directory", 0o750),
    f"pods/{UID}/decided-ends": ("file", 0o600),
    f"pods/{UID}/etc-hosts": ("file", 0o644),
    f"pods/{UID}/userns": ("file", 0o600),
    f"pods/{UID}/(volumes|plugins|containers)": ("directory", 0o750),
    f"pods/{UID}/containers/[a-z]+": ("directory", 0o750),
    f"pods/{UID}/containers/[a-z]+/{HEX}": ("file", 0o666),
    f"pods/{UID}/plugins/kubernetes.io~empty-dir(/[a-z]+)?": ("directory", 0o750),
    f"pods/{UID}/plugins/kubernetes.io~empty-dir/[a-z]+/ready": ("file", 0o600),
    f"pods/{UID}/volume-subpaths(/[a-z]+(/[a-z]+)?)?": ("directory", 0o750),
    f"pods/{UID}/volume-subpaths/[a-z]+/[a-z]+/[0-9]+": ("directory", 0o777),
    # Volumes. Containers may write to an emptyDir; they read the others by group and others, as users they choose.
    f"{VOLUME}(configmap|downward-api|empty-dir|projected|secret)": ("directory", 0o750),
    f"{VOLUME}empty-dir/scratch": ("directory", 0o777),
    f"{VOLUME}empty-dir/memory": ("directory", 0o1777),
    f"{VOLUME}empty-dir/scratch/part": ("directory", 0o777),
    f"{VOLUME}configmap/[a-z0-9-]+": ("directory", 0o777),
    f"{VOLUME}(downward-api|projected|secret)/[a-z0-9-]+": ("directory", 0o1777),  # as the kernel makes a tmpfs
    rf"{VOLUME}(configmap|downward-api|projected|secret)/[a-z0-9-]+/{VERSION}": ("directory", 0o755),
    rf"{VOLUME}(configmap|downward-api|projected|secret)/[a-z0-9-]+/(\.\.data|[a-z.]+)": ("link", 0o777),
    rf"{VOLUME}configmap/conf/{VERSION}/app\.conf": ("file", 0o644),
    rf"{VOLUME}secret/keys/{VERSION}/key": ("file", 0o400),
    rf"{VOLUME}downward-api/down/{VERSION}/name": ("file", 0o644),
    rf"{VOLUME}projected/[a-z0-9-]+/{VERSION}/token": ("file", 0o600),
    rf"{VOLUME}projected/[a-z0-9-]+/{VERSION}/(ca\.crt|namespace|shown)": ("file", 0o644),
}
"""Pattern of the path -> kind and mode.

The owner is the agent's user, but for tokens of a container's own user.
"""

SELDOM = ("evictions", "graceful_node_shutdown_state")
"""Written where a node runs short, or its machine goes down; in the same way as `decided-ends`."""
TOKEN = re.compile(rf"{VOLUME}projected/[a-z0-9-]+/{VERSION}/token")

VOLUMES: list[dict[str, Any]] = [
    {"name": "conf", "configMap": {"name": "conf"}},
    {"name": "keys", "secret": {"secretName": "keys", "defaultMode": 0o400}},
    {"name": "down", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {"name": "scratch", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    {
        "name": "mixed",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token"}},
                {"configMap": {"name": "conf", "items": [{"key": "app.conf", "path": "shown"}]}},
            ]
        },
    },
]


class Cluster:
    """An API server, a simulated runtime, and an agent that has the pod running."""

    def __init__(self, directory: Path, api: Api, agent: subprocess.Popen[bytes]) -> None:
        self.root = directory / "root"
        self.api = api
        self.agent = agent

    def make(self) -> None:
        mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in VOLUMES]
        mounts.append({"name": "scratch", "mountPath": "/part", "subPath": "part"})
        pod = {
            "metadata": {
                "name": "web",
                "namespace": "default",
                "annotations": {f"{PREFIX}ignore-stop-signal": "true"},
            },
            "spec": {
                "nodeName": "n",
                "hostUsers": False,
                "securityContext": {"runAsUser": USER},
                "containers": [{"name": "main", "image": "busybox", "volumeMounts": mounts}],
                "volumes": VOLUMES,
            },
        }
        objects: list[tuple[Any, str, dict[str, Any]]] = [
            (CONFIG_MAPS, "conf", {"metadata": {"name": "conf"}, "data": {"app.conf": "x"}}),
            (SECRETS, "keys", {"metadata": {"name": "keys"}, "data": {"key": "eA=="}}),
            (PODS, "web", pod),
        ]
        for resource, name, value in objects:
            typed = {"apiVersion": "v1", "kind": {"conf": "ConfigMap", "keys": "Secret", "web": "Pod"}[name], **value}
            self.api.call(create_unread(resource, "default", name, typed)).result(PATIENCE_S)

    def phase(self) -> str:
        status = self.api.call(get(PODS, "default", "web")).result(PATIENCE_S).status
        return (status.phase if status is not None else None) or ""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[EmbeddedApi]:
    options = ApiServerOptions(str(tmp_path / "apiserver"), str(tmp_path / "admin"), nodes=("n",))
    with embedded_api(options) as made:
        yield made


@pytest.fixture
def cluster(tmp_path: Path, api: EmbeddedApi) -> Iterator[Cluster]:
    (tmp_path / "manifests").mkdir()
    command = actorlet("simulated-cri", "--socket", str(tmp_path / "cri.sock"))
    runtime = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert runtime.stdout is not None
    assert runtime.stdout.readline()
    (port,) = free_ports(1)
    more = (
        f"--kubeconfig={api.node_kubeconfigs['n']}",
        "--enable-server=true",
        "--address=127.0.0.1",
        "--read-only-port=0",
        f"--port={port}",
        f"--cert-dir={tmp_path}/root/pki",
        "--authorization-mode=AlwaysAllow",
    )
    with (tmp_path / "log").open("ab") as log:
        agent = subprocess.Popen(actorlet("run", *flags(tmp_path, *more)), cwd=ROOT, stderr=log, umask=0)
    try:
        with (
            closing(LoopThread("test")) as loop,
            closing(open_lines(read_access(api.kubeconfig), loop, KubeletConfiguration())) as lines,
        ):
            yield Cluster(tmp_path, lines.main, agent)
    finally:
        with ExitStack() as after:
            after.callback(unmount_below, tmp_path)
            for process in (runtime, agent):
                after.callback(process.kill)
            for process in (agent, runtime):
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENCE_S)
            runtime.communicate()


def unmount_below(directory: Path) -> None:
    """The volumes of pods outlive the agent, which ends in the middle of the pod's end."""
    mounts = KernelMounts()
    for point in mounts.below(str(directory)):
        mounts.unmount(point, detach=True)


def found_below(root: Path) -> dict[str, os.stat_result]:
    found = {"": root.lstat()}
    for above, directories, files in os.walk(root):
        for name in (*directories, *files):
            path = Path(above, name)
            found[str(path.relative_to(root))] = path.lstat()
    return found


def kind_of(info: os.stat_result) -> str:
    kinds = {stat.S_IFDIR: "directory", stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFSOCK: "socket"}
    return kinds.get(stat.S_IFMT(info.st_mode), "something else")


# (spec 2.7.5, 16.1)
def test_every_file_of_the_agent_has_its_owner_and_its_mode(cluster: Cluster, tmp_path: Path) -> None:
    cluster.make()

    def said() -> str:
        return (tmp_path / "log").read_text()[-3000:]

    until(lambda: cluster.phase() == "Running" or cluster.agent.poll() is not None, PATIENCE_S, said)
    assert cluster.phase() == "Running", said()
    cluster.api.call(delete(PODS, "default", "web", grace_seconds=300)).result(PATIENCE_S)
    # Its end begins, and takes long.
    until(lambda: list(cluster.root.glob("pods/*/decided-ends")), PATIENCE_S, said)
    found = found_below(cluster.root)
    wrong, met = [], set(SELDOM)
    for path, info in sorted(found.items()):
        patterns = [each for each in EXPECTED if re.fullmatch(each, path)]
        met.update(patterns)
        is_as = (kind_of(info), stat.S_IMODE(info.st_mode))
        if is_as not in [EXPECTED[each] for each in patterns]:
            wrong.append(f"{path}: {is_as[0]} {is_as[1]:o}")
        owner = USER if TOKEN.fullmatch(path) else os.geteuid()
        if info.st_uid != owner:
            wrong.append(f"{path}: belongs to {info.st_uid}")
    assert not wrong, "\n".join(wrong)
    assert not set(EXPECTED) - met, sorted(set(EXPECTED) - met)
    for path, info in found_below(tmp_path / "logs").items():
        if stat.S_ISDIR(info.st_mode):
            assert stat.S_IMODE(info.st_mode) == (0o755 if path else 0o750), path
