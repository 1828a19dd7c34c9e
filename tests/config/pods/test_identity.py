"""Who a pod is: source, criticality, names and class of service."""

import pytest

from config.objects import Container, EphemeralContainer, ObjectMeta, Pod, PodSpec, PodStatus, ResourceRequirements
from config.pods.identity import (
    comparable_annotations,
    config_hash,
    display_name,
    field_path,
    full_name,
    is_critical,
    is_mirror,
    is_node_critical,
    is_sidecar,
    is_static,
    mirror_hash,
    qos_class,
    source_of,
)

SOURCE = "kubernetes.io/config.source"
MIRROR = "kubernetes.io/config.mirror"
SYSTEM = 2_000_000_000


def pod(
    annotations: dict[str, str] | None = None, priority: int | None = None, priority_class: str | None = None
) -> Pod:
    return Pod(
        metadata=ObjectMeta(name="web", namespace="shop", annotations=annotations or {}),
        spec=PodSpec(priority=priority, priority_class_name=priority_class),
    )


@pytest.mark.parametrize(
    ("annotations", "static", "mirror"),
    [
        ({}, False, False),
        ({SOURCE: "api"}, False, False),
        ({SOURCE: "file"}, True, False),
        ({SOURCE: "http"}, True, False),
        ({SOURCE: "api", MIRROR: "abc"}, False, True),
        ({MIRROR: ""}, False, True),
    ],
)
# (spec 1.3.3)
def test_the_source_annotation_makes_static_and_the_mirror_annotation_mirror(
    annotations: dict[str, str], static: bool, mirror: bool
) -> None:
    assert is_static(pod(annotations)) is static
    assert is_mirror(pod(annotations)) is mirror
    assert source_of(pod(annotations)) == annotations.get(SOURCE)
    assert mirror_hash(pod(annotations)) == annotations.get(MIRROR)


@pytest.mark.parametrize(
    ("subject", "critical", "node_critical"),
    [
        (pod(), False, False),
        (pod(priority=SYSTEM - 1), False, False),
        (pod(priority=SYSTEM), True, False),
        (pod({SOURCE: "file"}), True, False),
        (pod({MIRROR: "x"}), True, False),
        (pod(priority=SYSTEM + 1000, priority_class="system-node-critical"), True, True),
        (pod(priority_class="system-node-critical"), False, False),
        (pod({SOURCE: "file"}, priority_class="system-node-critical"), True, True),
    ],
)
# (spec 1.3.4)
def test_criticality(subject: Pod, critical: bool, node_critical: bool) -> None:
    assert is_critical(subject) is critical
    assert is_node_critical(subject) is node_critical


def test_names_and_hashes() -> None:
    assert full_name(pod()) == "web_shop"
    assert display_name(pod()) == "shop/web"
    assert config_hash(pod({"kubernetes.io/config.hash": "abc"})) == "abc"
    assert config_hash(pod()) is None


# (spec 1.3.2)
def test_local_annotations_take_no_part_in_a_comparison() -> None:
    annotations = {SOURCE: "file", MIRROR: "m", "kubernetes.io/config.seen": "now", "kubernetes.io/config.hash": "h"}
    assert comparable_annotations(pod({**annotations, "mine": "1"})) == {"kubernetes.io/config.hash": "h", "mine": "1"}


def test_an_init_container_that_always_restarts_is_a_sidecar() -> None:
    assert is_sidecar(Container(name="proxy", restart_policy="Always"))
    assert not is_sidecar(Container(name="setup"))


def needs(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> Container:
    return Container(name="c", resources=ResourceRequirements(requests=requests or {}, limits=limits or {}))


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (PodSpec(containers=(Container(name="c"),)), "BestEffort"),
        (PodSpec(containers=(needs({"cpu": "0"}),)), "BestEffort"),
        (PodSpec(containers=(needs({"ephemeral-storage": "1Gi"}),)), "BestEffort"),
        (PodSpec(containers=(needs({"cpu": "1"}),)), "Burstable"),
        (PodSpec(containers=(needs(BOTH, BOTH),)), "Guaranteed"),
        (PodSpec(containers=(needs({"cpu": "1000m", "memory": "1024Mi"}, BOTH),)), "Guaranteed"),
        (PodSpec(containers=(needs(None, BOTH),)), "Guaranteed"),
        (PodSpec(containers=(needs({"cpu": "500m", "memory": "1Gi"}, BOTH),)), "Burstable"),
        (PodSpec(containers=(needs(None, {"cpu": "1"}),)), "Burstable"),
        (PodSpec(containers=(needs(BOTH, BOTH), Container(name="d"))), "Burstable"),
        (PodSpec(init_containers=(Container(name="i"),), containers=(needs(BOTH, BOTH),)), "Burstable"),
        (PodSpec(init_containers=(needs(BOTH, BOTH),), containers=(needs(BOTH, BOTH),)), "Guaranteed"),
        (
            PodSpec(containers=(Container(name="c"),), resources=ResourceRequirements(requests=BOTH, limits=BOTH)),
            "Guaranteed",
        ),
        (
            PodSpec(containers=(needs(BOTH, BOTH),), resources=ResourceRequirements(requests={"cpu": "2"})),
            "Burstable",
        ),
    ],
)
# (spec 10.17.1)
def test_the_class_of_service_follows_from_the_resources(spec: PodSpec, expected: str) -> None:
    assert qos_class(Pod(spec=spec)) == expected


def test_a_recorded_class_of_service_stays() -> None:
    assert (
        qos_class(Pod(spec=PodSpec(containers=(needs(BOTH, BOTH),)), status=PodStatus(qos_class="Burstable")))
        == "Burstable"
    )


# (spec 15.2)
def test_places_of_containers_in_events():
    spec = PodSpec(
        containers=(Container(name="web"),),
        init_containers=(Container(name="init"),),
        ephemeral_containers=(EphemeralContainer(name="debug"),),
    )
    paths = [field_path(Pod(spec=spec), each) for each in ("web", "init", "debug", "nobody")]
    assert paths == ["spec.containers{web}", "spec.initContainers{init}", "spec.ephemeralContainers{debug}", ""]
