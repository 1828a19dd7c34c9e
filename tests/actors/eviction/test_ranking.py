"""Who goes first (spec 7.4), who is over a limit of its own (spec 7.6), and what is said of it (spec 7.5)."""

from __future__ import annotations

import msgspec
import pytest

from actors.eviction.local_limits import has_local_limits, over_limits
from actors.eviction.ranking import victims
from actors.eviction.thresholds import Amount, Layout, Threshold
from actors.eviction.usage import Candidate
from actors.eviction.words import eviction_words
from actors.node_signals import CONTAINER_FS, IMAGE_FS, MEMORY, NODE_FS, NODE_FS_INODES, PIDS, SignalReading
from config.objects import Pod
from runtime.stats.readings import FsReading, LayerUsage, MemoryReading, PodDisk
from runtime.stats.samples import ContainerSample, PodSample

MIB = 2**20
SINGLE, DEDICATED, SPLIT = Layout(), Layout(images_apart=True), Layout(images_apart=True, containers_apart=True)


def fs(used, inodes=0):
    return FsReading(0, 1, 1, used, 1, 1, inodes)


def candidate(name, *, priority=0, request=None, limits=None, memory=0, layer=0, logs=0, volume=0, processes=0, **more):
    """Amounts in MiB; inodes as many as MiB. `volume`: an emptyDir `scratch`."""
    resources = {"requests": request or {}, "limits": limits or {}}
    document = {
        "metadata": {"name": name, "uid": name, "annotations": more.get("annotations", {})},
        "spec": {
            "priority": priority,
            "containers": [{"name": "app", "resources": resources}],
            "volumes": [{"name": "scratch", "emptyDir": more.get("empty_dir", {})}],
        },
    }
    container = ContainerSample(
        "id",
        "app",
        "image",
        0,
        memory=MemoryReading(0, memory * MIB),
        layer=LayerUsage(0, "/", layer * MIB, layer),
        logs=fs(logs * MIB, logs),
    )
    disk = PodDisk(0, volumes=(("kubernetes.io/empty-dir", "scratch", fs(volume * MIB, volume)),))
    sample = PodSample(
        "s", name, name, "", 0, (container,), memory=MemoryReading(0, memory * MIB), processes=processes, disk=disk
    )
    return Candidate(msgspec.convert(document, Pod), None if more.get("unknown") else sample)


def order(signal, resource, candidates, layout=SINGLE):
    return [each.pod.metadata.name for each in victims(signal, resource, candidates, layout)]


def test_by_memory_those_above_their_request_go_first_then_lower_priority_then_the_most_above():
    pods = [
        candidate("within", request={"memory": "500Mi"}, memory=400),
        candidate("within-more-above", request={"memory": "450Mi"}, memory=449),
        candidate("above-important", priority=10, memory=900),
        candidate("above-a-little", request={"memory": "100Mi"}, memory=101),
        candidate("above-a-lot", request={"memory": "100Mi"}, memory=300),
        candidate("unknown", priority=1000, request={"memory": "1Gi"}, unknown=True),
    ]
    expected = ["unknown", "above-a-lot", "above-a-little", "above-important", "within-more-above", "within"]
    assert order(MEMORY, "memory", pods) == expected


def test_critical_pods_are_never_among_the_victims():
    static = {"kubernetes.io/config.source": "file"}
    pods = [
        candidate("critical", priority=2_000_000_000, memory=9),
        candidate("static", annotations=static),
        candidate("x"),
    ]
    assert order(MEMORY, "memory", pods) == ["x"]
    assert (
        over_limits([candidate("static", annotations=static, empty_dir={"sizeLimit": "1Mi"}, volume=2)], SINGLE) == []
    )


def test_by_processes_priority_then_number():
    pods = [candidate("few", processes=2), candidate("many", processes=9), candidate("first", priority=-1, processes=1)]
    assert order(PIDS, "pids", pods) == ["first", "many", "few"]


@pytest.mark.parametrize(
    ("signal", "layout", "expected"),
    [
        (NODE_FS, SINGLE, ["layers", "volumes", "logs"]),
        (NODE_FS, DEDICATED, ["volumes", "logs", "layers"]),
        (IMAGE_FS, DEDICATED, ["layers", "logs", "volumes"]),
        (CONTAINER_FS, DEDICATED, ["layers", "logs", "volumes"]),
        (NODE_FS, SPLIT, ["layers", "volumes", "logs"]),
    ],
)
def test_by_disk_what_counts_is_what_lies_there(signal, layout, expected):
    pods = [candidate("layers", layer=30), candidate("logs", logs=10), candidate("volumes", volume=20)]
    assert order(signal, "ephemeral-storage", pods, layout) == expected


def test_an_empty_dir_in_memory_is_not_on_the_disk_and_inodes_count_by_number():
    in_memory = candidate("tmpfs", volume=100, empty_dir={"medium": "Memory"})
    pods = [in_memory, candidate("disk", volume=1), candidate("asked", request={"ephemeral-storage": "1Gi"}, volume=9)]
    assert order(NODE_FS, "ephemeral-storage", pods) == ["disk", "tmpfs", "asked"]
    assert order(NODE_FS_INODES, "inodes", pods) == ["asked", "disk", "tmpfs"]


# --- limits of their own --------------------------------------------------------------------------------------------

LIMIT = {"limits": {"ephemeral-storage": "10Mi"}}


@pytest.mark.parametrize(
    ("what", "layout", "signal", "message"),
    [
        (
            {"empty_dir": {"sizeLimit": "5Mi"}, "volume": 6},
            SINGLE,
            "emptydirfs.limit",
            'Usage of EmptyDir volume "scratch" exceeds the limit "5Mi". ',
        ),
        ({"empty_dir": {"sizeLimit": "5Mi"}, "volume": 5}, SINGLE, "", ""),
        (
            {**LIMIT, "layer": 4, "logs": 4, "volume": 4},
            SINGLE,
            "ephemeralpodfs.limit",
            "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
        ),
        ({**LIMIT, "layer": 4, "logs": 4, "volume": 4}, DEDICATED, "", ""),
        ({"layer": 100}, SINGLE, "", ""),
    ],
)
def test_a_pod_over_a_limit_of_its_own(what, layout, signal, message):
    found = over_limits([candidate("x", **what)], layout)
    assert [(each.signal, each.message) for each in found] == ([(signal, message)] if signal else [])


def test_a_container_over_its_own_limit_where_the_pod_is_within_the_sum():
    whole = candidate("x", **LIMIT, layer=8, logs=3)
    other = msgspec.structs.replace(whole.pod.spec.containers[0], name="other")
    spec = msgspec.structs.replace(whole.pod.spec, containers=(*whole.pod.spec.containers, other))
    pod = msgspec.structs.replace(whole.pod, spec=spec)
    found = over_limits([msgspec.structs.replace(whole, pod=pod)], SINGLE)
    assert [(each.signal, each.message) for each in found] == [
        ("ephemeralcontainerfs.limit", 'Container app exceeded its local ephemeral storage limit "10Mi". ')
    ]


def test_pods_with_limits_of_the_disk_are_told_from_those_without():
    assert has_local_limits(candidate("x", empty_dir={"sizeLimit": "1Mi"}).pod)
    assert has_local_limits(candidate("x", limits={"ephemeral-storage": "1Mi"}).pod)
    assert not has_local_limits(candidate("x", limits={"memory": "1Mi"}).pod)


# --- words ----------------------------------------------------------------------------------------------------------


def test_the_words_name_the_threshold_and_the_containers_that_use_more_than_they_asked_for():
    pod = candidate("x", request={"memory": "100Mi"}, memory=300)
    threshold = Threshold(MEMORY, Amount(percent=10.0))
    message, annotations = eviction_words(threshold, SignalReading(50 * MIB, 1000 * MIB, 0), pod, SINGLE)
    assert message == (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
        "Container app was using 300Mi, request is 100Mi, has larger consumption of memory. "
    )
    assert dict(annotations) == {
        "offending_containers": "app",
        "offending_containers_usage": "300Mi",
        "starved_resource": "memory",
    }
