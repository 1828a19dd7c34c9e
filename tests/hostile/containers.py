"""Decoders of what containers, runtimes, plugins and the kernel tell."""

from __future__ import annotations

import inspect
import os
from typing import Any
from unittest import mock

from google.protobuf.message import DecodeError

from actors.model.observed import observe, observed_container, observed_sandbox
from actors.volumes.plugins.rules import judge
from runtime.cri import messages
from runtime.cri.messages import ContainerStatusResponse, CriMessage, PodSandboxStatusResponse
from runtime.cri.v1 import api_pb2
from runtime.cri.wire import codec
from runtime.csi.client import GrpcCsiNode
from runtime.csi.v1 import csi_pb2
from runtime.host.machine import memory_sizes, os_image
from runtime.host.start_facts import mounted_controllers
from runtime.host.swap import keeps_volumes_from_swap, swaps
from runtime.logs.lines import LineWriter, LogReadOptions, line_of
from runtime.logs.pod_files import LocalPodFiles, attempt_after, content_of
from runtime.oom.kernel_log import kernel_texts
from runtime.oom.lines import OomLines
from runtime.plugin_registration.capability import PluginInfo
from runtime.plugin_registration.v1 import registration_pb2
from runtime.stats import kernel_files
from runtime.volumes.mounts import is_shared, parse_mount_points
from simulation.cri.behaviour import BehaviourError, parse_behaviour
from tests.hostile.decoder import SCRATCH, Decoder, text_of

ANSWERS = sorted(
    (
        each
        for _, each in inspect.getmembers(messages, inspect.isclass)
        if issubclass(each, CriMessage) and each.__name__.endswith("Response") and hasattr(api_pb2, each.__name__)
    ),
    key=lambda each: each.__name__,
)
CONTAINER, SANDBOX = (ANSWERS.index(each) for each in (ContainerStatusResponse, PodSandboxStatusResponse))


def log_lines(data: bytes) -> object:
    lines = data.split(b"\n")
    shown = LineWriter(LogReadOptions(timestamps=True, since_ns=1)).shown(lines)
    return shown, [(line_of(raw), content_of(raw)) for raw in lines]


def log_files(data: bytes) -> object:
    """A log, and a termination message, as a container may write them."""
    path = os.path.join(SCRATCH.name, "0.log")
    with open(path, "wb") as file:
        file.write(data)
    files = LocalPodFiles()
    names = text_of(data).split("/")[:50]
    return files.read_log_tail(path, "id", 80, 2048), files.read_termination_message(path, 4096), attempt_after(names)


def cri_answer(data: bytes) -> object:
    """The first byte chooses the verb."""
    kind = ANSWERS[data[0] % len(ANSWERS)] if data else ContainerStatusResponse
    answer: Any = codec(kind).decode(data[1:])
    again = codec(kind).decode(codec(kind).encode(answer))
    assert again == answer or answer != answer, "what is not a number differs from itself"
    seen: object = None
    if isinstance(answer, ContainerStatusResponse) and answer.status is not None:
        seen = observe("uid", (), (observed_container(answer.status),))
    elif isinstance(answer, PodSandboxStatusResponse) and answer.status is not None:
        seen = observe("uid", (observed_sandbox(answer.status),), ())
    return answer, seen


class _Socket:
    """A driver that answers every call with the same bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def ask(self, path: str, request: Any, answer: Any, **options: Any) -> Any:
        return answer.FromString(self._data)


def csi_answer(data: bytes) -> object:
    """The first byte chooses the call."""
    with mock.patch("runtime.csi.client.PluginSocket", return_value=_Socket(data[1:])):
        node = GrpcCsiNode("/nobody.sock")
    calls = (node.info, node.abilities, lambda: node.stats("a", "/b", "/c"))
    return calls[data[0] % len(calls) if data else 0]()


def plugin(data: bytes) -> object:
    told = registration_pb2.PluginInfo.FromString(data)
    info = PluginInfo(told.type, told.name, told.endpoint, tuple(told.supported_versions))
    return judge(info, "/plugins/a.sock", None)


def mount_table(data: bytes) -> object:
    return parse_mount_points(data), is_shared(data, "/var/lib/kubelet/pods"), mounted_controllers(text_of(data))


def kernel_file(data: bytes) -> object:
    text = text_of(data)
    first, _, second = text.partition("\0")
    interfaces = kernel_files.net_dev(first)
    return (
        kernel_files.whole(text),
        kernel_files.limit(text),
        kernel_files.flat(text),
        kernel_files.meminfo(text),
        kernel_files.pressure(text),
        kernel_files.io_stat(text),
        kernel_files.blkio(first, second),
        interfaces,
        kernel_files.default_interface(second, interfaces),
        kernel_files.cgroup_paths(text),
        kernel_files.cpu_times_us(text),
        kernel_files.boot_time_s(text),
        kernel_files.tasks_of_load(text),
        kernel_files.process_times(text),
    )


def machine_file(data: bytes) -> object:
    for name in ("proc/meminfo", "etc/os-release", "proc/swaps"):
        path = os.path.join(SCRATCH.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    return memory_sizes(SCRATCH.name), os_image(SCRATCH.name), swaps(path), keeps_volumes_from_swap(text_of(data))


def kernel_log(data: bytes) -> object:
    lines = OomLines()
    return [lines.told(text) for text in kernel_texts(data)], [lines.told(text) for text in text_of(data).split("\n")]


def behaviour(data: bytes) -> object:
    pairs = (part.partition("=")[0::2] for part in text_of(data).split("\0"))
    return parse_behaviour({f"simulated.actorlet.dev/{key}": value for key, value in pairs})


_STRANGE_UNIT: Any = 9
_USAGE = csi_pb2.VolumeUsage(total=-5, unit=_STRANGE_UNIT)


def _status() -> bytes:
    status = api_pb2.ContainerStatus(
        id="c",
        metadata=api_pb2.ContainerMetadata(name="app", attempt=3),
        state=api_pb2.CONTAINER_EXITED,
        exit_code=-5,
        reason="Error",
        labels={"io.kubernetes.container.name": "app", "io.kubernetes.pod.uid": "u"},
        annotations={"io.kubernetes.container.restartCount": "3"},
    )
    return bytes([CONTAINER]) + api_pb2.ContainerStatusResponse(status=status).SerializeToString()


def _sandbox() -> bytes:
    status = api_pb2.PodSandboxStatus(
        id="s", state=api_pb2.SANDBOX_READY, network=api_pb2.PodSandboxNetworkStatus(ip="10.0.0.1")
    )
    return bytes([SANDBOX]) + api_pb2.PodSandboxStatusResponse(status=status).SerializeToString()


MOUNTS = (
    b"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n"
    b"41 26 0:36 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
)
FILES = (
    b"cpu  1 2 3 4 5\nbtime 17\nsome avg10=0.00 avg60=1.5 avg300=0 total=12\nfull avg10=0 avg60=0 avg300=0 total=0\n",
    b"8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n0::/kubepods\n1:cpu,memory:/a\n",
    b"Inter-|   Receive\n face |bytes\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\0Iface\neth0 00000000 0 0003\n",
    b"8:0 Read 4096\n8:0 Write 0\nTotal 4096\n\08:0 Read 1\n",
    b"1234 (a b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22",
    b"0.00 0.01 0.05 1/234 567\n",
)

CONTAINERS = (
    Decoder(
        "log-lines",
        log_lines,
        (),
        (
            b"2026-01-31T12:00:00.123456789Z stdout F hello\n2026-01-31T12:00:00Z stderr P half",
            b'{"log":"hello\\n","stream":"stdout","time":"2026-01-31T12:00:00.1Z"}\n',
        ),
        (b'\r{"x":' + b"[" * 3000, b'{"log":"\\ud800"}', b" stdout F "),
    ),
    Decoder("log-files", log_files, (), (b"2026-01-31T12:00:00Z stdout F end\n", b'\r{"x":[[[\n', b"/3.log/4.log.gz/")),
    Decoder("cri-answer", cri_answer, (ValueError,), (_status(), _sandbox())),
    Decoder(
        "csi-answer",
        csi_answer,
        (DecodeError,),
        (
            b"\0" + csi_pb2.NodeGetInfoResponse(node_id="n", max_volumes_per_node=-1).SerializeToString(),
            b"\2" + csi_pb2.NodeGetVolumeStatsResponse(usage=[_USAGE]).SerializeToString(),
        ),
    ),
    Decoder(
        "plugin",
        plugin,
        (DecodeError,),
        (
            registration_pb2.PluginInfo(
                type="CSIPlugin", name="a.example", endpoint="/x", supported_versions=["1.2.3", "v1"]
            ).SerializeToString(),
        ),
    ),
    Decoder("mount-table", mount_table, (), (MOUNTS,)),
    Decoder("kernel-file", kernel_file, (), FILES),
    Decoder(
        "machine-file", machine_file, (), (b"MemTotal:  16 kB\n", b'PRETTY_NAME="A \\"B"\n', b"Filename\n/a\\040b x\n")
    ),
    Decoder(
        "kernel-log",
        kernel_log,
        (),
        (
            b"6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg=/a/b,task=x,pid=7,uid=0\n"
            b"3,2,3,-;Memory cgroup out of memory: Killed process 7 (x) total-vm:4kB\n",
            b"Task in /a/b killed as a result of limit of /a\nKilled process 52 (evil), UID 1, total-vm\n",
        ),
    ),
    Decoder(
        "behaviour", behaviour, (BehaviourError,), (b"run-for=3s\0exit-code=1\0fails=StartContainer*2", b"app.x=y")
    ),
)
