"""What the volume manager costs: pods with five volumes each, mounted, left alone, unmounted.

    python -m benchmarks.volumes [--pods 1000] [--idle-seconds 30]

The actor runs on real threads and the disk is simulated. So the benchmark measures the actor and its lanes, and not the
kernel's mounts. It prints a line of JSON. The line has the seconds until every pod has its volumes and until all are
gone, and the most threads. It has the CPU time of an idle second with all pods and with none.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from typing import Any

from actors.kernel import Actor, ActorSystem, PoolDispatcher, handles
from actors.messages.events import RecordEvent
from actors.messages.volumes import PrepareVolumes, ReleaseVolumes, VolumesPrepared, VolumesReleased
from actors.volumes.reconciler import VolumeReconcilerActor
from config.objects import (
    Container,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    NFSVolumeSource,
    ObjectFieldSelector,
    ObjectMeta,
    Pod,
    PodSpec,
    Volume,
    VolumeMount,
)
from simulation.host.file_tree import FileTree
from simulation.host.volumes import SimulatedNodeVolumes

NAME = DownwardAPIVolumeFile(path="name", field_ref=ObjectFieldSelector(field_path="metadata.name"))
VOLUMES = (
    Volume(name="disk", empty_dir=EmptyDirVolumeSource()),
    Volume(name="memory", empty_dir=EmptyDirVolumeSource(medium="Memory")),
    Volume(name="host", host_path=HostPathVolumeSource(path="/srv")),
    Volume(name="down", downward_api=DownwardAPIVolumeSource(items=(NAME,))),
    Volume(name="share", nfs=NFSVolumeSource(server="s", path="/")),
)
LIMIT_SECONDS = 120.0


class Listener(Actor):
    """Receives the answers to all workers; `all_told` is set after the wanted number without an error."""

    def __init__(self, all_told: threading.Event, wanted: list[int]) -> None:
        super().__init__()
        self.all_told = all_told
        self.wanted = wanted

    @handles(VolumesPrepared, VolumesReleased)
    def hear(self, message: Any) -> None:
        self.wanted[0] -= not message.error
        if self.wanted[0] == 0:
            self.all_told.set()

    @handles(RecordEvent)
    def record(self, _: RecordEvent) -> None:
        """Nobody reads it."""


def pod_of(number: int) -> Pod:
    """One pod."""
    mounts = tuple(VolumeMount(name=volume.name, mount_path=f"/{volume.name}") for volume in VOLUMES)
    spec = PodSpec(volumes=VOLUMES, containers=(Container(name="c", volume_mounts=mounts),))
    return Pod(metadata=ObjectMeta(name=f"p{number}", namespace="n", uid=f"u{number}"), spec=spec)


def measure(pods: int, idle_seconds: float) -> dict[str, Any]:
    """One run."""
    dispatcher = PoolDispatcher(4)
    system = ActorSystem(dispatcher)
    told, wanted, most = threading.Event(), [0], threading.active_count()
    listener = system.spawn(Listener, told, wanted, name="listener")
    disk = SimulatedNodeVolumes(FileTree(), "/root")
    actor = system.spawn(VolumeReconcilerActor, disk, listener, name="volumes")

    def timed(messages: list[Any]) -> float:
        nonlocal most
        told.clear()
        wanted[0] = len(messages)
        began = time.perf_counter()
        for message in messages:
            actor.tell(message)
        while messages and not told.wait(0.01):
            most = max(most, threading.active_count())
            assert time.perf_counter() - began < LIMIT_SECONDS, f"{wanted[0]} pods have heard nothing"
        return round(time.perf_counter() - began, 3)

    made = [pod_of(number) for number in range(pods)]
    mounted_s = timed([PrepareVolumes(listener, pod) for pod in made])
    cpu = time.process_time()
    time.sleep(idle_seconds)
    idle_ms = round((time.process_time() - cpu) / idle_seconds * 1000, 3)
    gone_s = timed([ReleaseVolumes(listener, pod.metadata.uid) for pod in made])
    assert not disk.mounted
    assert system.stop()
    dispatcher.close()
    return {
        "pods": pods,
        "volumes": pods * len(VOLUMES),
        "mounted_s": mounted_s,
        "idle_cpu_ms_per_s": idle_ms,
        "gone_s": gone_s,
        "threads": most,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--idle-seconds", type=float, default=30.0)
    options = parser.parse_args()
    for pods in (0, options.pods):
        print(json.dumps(measure(pods, options.idle_seconds)), flush=True)


if __name__ == "__main__":
    main()
