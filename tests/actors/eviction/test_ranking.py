"""The order of eviction (spec 7.4), limits of single pods (7.6), and the messages (7.5)."""

from __future__ import annotations

import msgspec
import pytest

from actors.eviction.choice import first_to_go, grace_of, over_their_limits, those_said
from actors.eviction.local_limits import over_limits
from actors.eviction.ranking import used_of, victims
from actors.eviction.signals import CONTAINER_FS, IMAGE_FS, MEMORY, NODE_FS, NODE_FS_INODES, PIDS, SignalReading
from actors.eviction.thresholds import Amount, Layout, Threshold
from actors.eviction.usage import Candidate
from actors.eviction.words import eviction_words
from config.objects import Pod, ResourceRequirements, Volume
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


# (spec 7.4.2)
def test_7_4_by_memory_those_above_their_request_go_first_then_lower_priority_then_the_most_above():
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


@pytest.mark.parametrize(("signal", "resource"), [(MEMORY, "memory"), (NODE_FS, "ephemeral-storage")])
# (spec 7.4.1)
def test_7_4_a_pod_without_usage_numbers_is_evicted_first(signal, resource):
    known = candidate("known", priority=-10, memory=900, layer=900, processes=900)
    unknown = candidate("unknown", priority=1000, request={"memory": "1Gi", "ephemeral-storage": "1Gi"}, unknown=True)
    assert order(signal, resource, [known, unknown]) == ["unknown", "known"]


# (spec 7.4.4)
def test_7_4_for_process_ids_priority_outranks_missing_numbers():
    pods = [
        candidate("important-unknown", priority=1000, unknown=True),
        candidate("many", processes=900),
        candidate("few", processes=9),
        candidate("unknown", unknown=True),
    ]
    assert order(PIDS, "pids", pods) == ["unknown", "many", "few", "important-unknown"]


@pytest.mark.parametrize("resource", ["ephemeral-storage", "inodes"])
# (spec 7.4.3)
def test_7_4_by_disk_above_the_request_then_lower_priority_then_the_most_above(resource):
    signal = NODE_FS if resource == "ephemeral-storage" else NODE_FS_INODES
    pods = [
        candidate("within", request={"ephemeral-storage": "500Mi"}, layer=400),
        candidate("important", priority=10, layer=900),
        candidate("a-little", layer=1),
        candidate("a-lot", layer=300),
    ]
    # Nobody can ask for inodes: there all are above what they asked for.
    expected = ["a-lot", "a-little", "important", "within"] if resource == "ephemeral-storage" else None
    assert order(signal, resource, pods) == (expected or ["within", "a-lot", "a-little", "important"])


# (spec 7.4.5)
def test_7_4_only_volumes_on_disk_that_end_with_the_pod_count_as_its_disk_use():
    volumes = (
        ("kubernetes.io/empty-dir", "scratch", fs(1 * MIB, 1)),
        ("kubernetes.io/configmap", "settings", fs(2 * MIB, 2)),
        ("kubernetes.io/csi", "data", fs(400 * MIB, 400)),
        ("kubernetes.io/empty-dir", "not-of-this-pod", fs(800 * MIB, 800)),
    )
    whole = candidate("x")
    named = msgspec.convert([{"name": name} for name in ("scratch", "settings", "data")], tuple[Volume, ...])
    spec = msgspec.structs.replace(whole.pod.spec, volumes=named)
    sample = msgspec.structs.replace(whole.sample, disk=PodDisk(0, volumes=volumes))
    pod = Candidate(msgspec.structs.replace(whole.pod, spec=spec), sample)
    assert used_of(pod, NODE_FS, "ephemeral-storage", SINGLE) == 3 * MIB
    assert used_of(pod, NODE_FS_INODES, "inodes", SINGLE) == 3
    assert used_of(pod, IMAGE_FS, "ephemeral-storage", SPLIT) == 0


@pytest.mark.parametrize(
    ("grace_ns", "own", "longest", "seconds"),
    [
        (None, 30, 60, 1),
        (None, None, 60, 1),
        (90 * 10**9, 30, 60, 30),
        (90 * 10**9, 90, 60, 60),
        (90 * 10**9, None, 60, 60),
        (90 * 10**9, 30, 0, 0),
    ],
)
# (spec 7.5.2)
def test_7_5_a_hard_threshold_leaves_a_second_and_a_soft_one_the_shorter_of_two_times(grace_ns, own, longest, seconds):
    pod = candidate("x")
    spec = msgspec.structs.replace(pod.pod.spec, termination_grace_period_seconds=own)
    pod = msgspec.structs.replace(pod, pod=msgspec.structs.replace(pod.pod, spec=spec))
    assert grace_of(Threshold(MEMORY, Amount(100), grace_ns), pod, longest) == seconds


# (spec 7.5.3)
def test_7_5_an_eviction_for_node_pressure_is_a_disruption_and_one_over_a_limit_is_not():
    hoard = candidate("hoard", empty_dir={"sizeLimit": "1Mi"}, volume=2, memory=100)
    for_node = first_to_go(Threshold(MEMORY, Amount(100)), None, [hoard], SINGLE, 0)
    assert for_node is not None
    assert (for_node.uid, for_node.grace_seconds, for_node.disrupted, for_node.signal) == ("hoard", 1, True, MEMORY)
    (for_limit,) = over_their_limits([hoard], SINGLE)
    assert (for_limit.uid, for_limit.grace_seconds, for_limit.disrupted) == ("hoard", 1, False)
    assert for_limit.annotations == ()


# (spec 7.5.1)
def test_7_5_no_pod_is_evicted_when_all_are_critical():
    assert first_to_go(Threshold(MEMORY, Amount(1)), None, [candidate("c", priority=2_000_000_000)], SINGLE, 0) is None


LAYERS_APART = Layout(images_apart=True)


@pytest.mark.parametrize(
    ("signal", "resource", "layout", "said"),
    [
        # What the kernel and the disk say is as good as what the runtime would have said.
        (MEMORY, "memory", SINGLE, ["whole", "no-layer"]),
        (PIDS, "pids", SINGLE, ["whole", "no-layer", "no-memory"]),
        # The hoard may be in a layer: by what else there is, the wrong one would go.
        (NODE_FS, "ephemeral-storage", SINGLE, ["whole", "no-memory"]),
        (NODE_FS_INODES, "inodes", SINGLE, ["whole", "no-memory"]),
        (IMAGE_FS, "ephemeral-storage", LAYERS_APART, ["whole", "no-memory"]),
        # No layer lies there.
        (NODE_FS, "ephemeral-storage", LAYERS_APART, ["whole", "no-layer", "no-memory"]),
    ],
)
def test_a_pod_with_partial_statistics_is_ranked_only_if_the_needed_number_is_known(signal, resource, layout, said):
    def without(name, *, layer=True, memory=True):
        whole = candidate(name)
        (container,) = whole.sample.containers
        container = msgspec.structs.replace(container, layer=container.layer if layer else None)
        own = whole.sample.memory if memory else None
        sample = msgspec.structs.replace(whole.sample, containers=(container,), memory=own)
        return Candidate(whole.pod, sample)

    pods = [without("whole"), without("no-layer", layer=False), without("no-memory", memory=False)]
    pods.append(candidate("unknown", unknown=True))
    found = those_said(pods, Threshold(signal, Amount(1)), layout)
    assert [each.pod.metadata.name for each in found] == said


# (spec 7.5.1)
def test_7_5_critical_pods_are_never_among_the_victims():
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


# (spec 7.4.4)
def test_7_4_by_processes_priority_then_number():
    pods = [candidate("few", processes=2), candidate("many", processes=9), candidate("first", priority=-1, processes=1)]
    assert order(PIDS, "pids", pods) == ["first", "many", "few"]


@pytest.mark.parametrize(
    ("signal", "layout", "expected"),
    [
        (NODE_FS, SINGLE, ["layers", "volumes", "logs"]),
        (NODE_FS, DEDICATED, ["volumes", "logs", "layers"]),
        (IMAGE_FS, DEDICATED, ["layers", "logs", "volumes"]),
        (CONTAINER_FS, DEDICATED, ["layers", "logs", "volumes"]),
        (CONTAINER_FS, SINGLE, ["layers", "volumes", "logs"]),
        (IMAGE_FS, SINGLE, ["layers", "volumes", "logs"]),
        (NODE_FS, SPLIT, ["layers", "volumes", "logs"]),
        (CONTAINER_FS, SPLIT, ["layers", "volumes", "logs"]),
        # Nothing of pods lies with images alone: they are alike, and go by their names.
        (IMAGE_FS, SPLIT, ["layers", "logs", "volumes"]),
    ],
)
# (spec 7.4.3)
def test_7_4_disk_ranking_counts_what_the_pod_has_on_that_disk(signal, layout, expected):
    pods = [candidate("layers", layer=30), candidate("logs", logs=10), candidate("volumes", volume=20)]
    assert order(signal, "ephemeral-storage", pods, layout) == expected


# (spec 7.4.5)
def test_7_4_an_empty_dir_in_memory_is_not_on_the_disk_and_inodes_count_by_number():
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
# (spec 7.6.1)
def test_7_6_a_pod_over_a_limit_of_its_own(what, layout, signal, message):
    found = over_limits([candidate("x", **what)], layout)
    assert [(each.signal, each.message) for each in found] == ([(signal, message)] if signal else [])


# (spec 7.6.1)
def test_7_6_a_container_over_its_own_limit_where_the_pod_is_within_the_sum():
    whole = candidate("x", **LIMIT, layer=8, logs=3)
    other = msgspec.structs.replace(whole.pod.spec.containers[0], name="other")
    spec = msgspec.structs.replace(whole.pod.spec, containers=(*whole.pod.spec.containers, other))
    pod = msgspec.structs.replace(whole.pod, spec=spec)
    found = over_limits([msgspec.structs.replace(whole, pod=pod)], SINGLE)
    assert [(each.signal, each.message) for each in found] == [
        ("ephemeralcontainerfs.limit", 'Container app exceeded its local ephemeral storage limit "10Mi". ')
    ]


@pytest.mark.parametrize("policy", ["Always", None])
def test_7_6_sidecars_and_init_containers_are_held_to_their_limits(policy):
    whole = candidate("x", layer=2)
    init = msgspec.structs.replace(
        whole.pod.spec.containers[0],
        restart_policy=policy,
        resources=msgspec.convert({"limits": {"ephemeral-storage": "1Mi"}}, ResourceRequirements),
    )
    other = msgspec.structs.replace(
        init, name="other", resources=msgspec.convert({"limits": {"ephemeral-storage": "1Gi"}}, ResourceRequirements)
    )
    spec = msgspec.structs.replace(whole.pod.spec, containers=(other,), init_containers=(init,))
    pod = msgspec.structs.replace(whole, pod=msgspec.structs.replace(whole.pod, spec=spec))
    assert [each.signal for each in over_limits([pod], SINGLE)] == ["ephemeralcontainerfs.limit"]


# (spec 7.6.2)
def test_7_6_only_logs_count_for_a_container_whose_layer_is_on_another_disk():
    whole = candidate("x", **LIMIT, layer=100, logs=9)
    assert over_limits([whole], DEDICATED) == []
    (over,) = over_limits([candidate("x", **LIMIT, layer=100, logs=11)], DEDICATED)
    assert over.signal == "ephemeralpodfs.limit"


# --- words ----------------------------------------------------------------------------------------------------------


# (spec 7.5.4)
def test_7_5_the_words_name_the_threshold_and_the_containers_that_use_more_than_they_asked_for():
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


# (spec 7.5.4)
def test_7_5_the_message_names_the_pod_when_it_has_pod_level_requests():
    whole = candidate("web", memory=300)
    asks = msgspec.convert({"requests": {"memory": "100Mi"}}, ResourceRequirements)
    spec = msgspec.structs.replace(whole.pod.spec, resources=asks)
    pod = msgspec.structs.replace(whole, pod=msgspec.structs.replace(whole.pod, spec=spec))
    message, annotations = eviction_words(Threshold(MEMORY, Amount(1)), None, pod, SINGLE)
    assert message == (
        "The node was low on resource: memory. Pod web was using 300Mi, request is 100Mi, has larger consumption of"
        " memory. Container app was using 300Mi, request is 0, has larger consumption of memory. "
    )
    assert (dict(annotations)["offending_pod"], dict(annotations)["offending_pod_usage"]) == ("web", "300Mi")


def test_7_5_init_containers_are_named_as_others_are():
    pod = candidate("web", memory=300)
    (app,) = pod.pod.spec.containers
    spec = msgspec.structs.replace(
        pod.pod.spec, init_containers=(app,), containers=(msgspec.structs.replace(app, name="other"),)
    )
    pod = msgspec.structs.replace(pod, pod=msgspec.structs.replace(pod.pod, spec=spec))
    message, _ = eviction_words(Threshold(MEMORY, Amount(1)), None, pod, SINGLE)
    assert "Container app was using 300Mi, request is 0" in message
