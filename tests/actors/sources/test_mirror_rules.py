"""When a mirror pod is made, when it is deleted, and what is in it."""

from __future__ import annotations

import pytest

from actors.sources.mirror_pods import MirrorOperation, mirror_of, mirror_operation
from config.objects import Container, ObjectMeta, Pod, PodSpec, PodStatus
from config.pods.identity import CONFIG_HASH, CONFIG_MIRROR, CONFIG_SOURCE


def static(config_hash: str = "h1") -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name="web-n1",
            namespace="default",
            uid=config_hash,
            labels={"app": "web"},
            annotations={CONFIG_HASH: config_hash, CONFIG_SOURCE: "file"},
        ),
        spec=PodSpec(node_name="n1", containers=(Container(name="web", image="i"),)),
        status=PodStatus(phase="Running"),
    )


def mirror(config_hash: str = "h1", deleting: bool = False) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name="web-n1",
            namespace="default",
            uid="m",
            annotations={CONFIG_MIRROR: config_hash},
            deletion_timestamp="2026-11-21T00:00:00Z" if deleting else None,
        )
    )


@pytest.mark.parametrize(
    ("pod", "shown", "ready", "operation"),
    [
        (static(), None, True, MirrorOperation.CREATE),
        (static(), None, False, MirrorOperation.CREATE),
        (static(), mirror(), True, MirrorOperation.NOTHING),
        (static("h2"), mirror("h1"), True, MirrorOperation.DELETE),
        (static(), mirror(deleting=True), True, MirrorOperation.DELETE),
        (None, mirror(), True, MirrorOperation.DELETE),
        (None, mirror(), False, MirrorOperation.NOTHING),
        (None, None, True, MirrorOperation.NOTHING),
    ],
)
def test_the_api_shows_the_static_pod_as_it_is(
    pod: Pod | None, shown: Pod | None, ready: bool, operation: MirrorOperation
):
    assert mirror_operation(pod, shown, sources_ready=ready) is operation


# (spec 1.7.2)
def test_a_mirror_is_the_static_pod_with_its_hash_owned_by_the_node():
    made = mirror_of(static(), "n1", "node-uid")
    assert made.spec == static().spec
    assert made.metadata.annotations == {CONFIG_HASH: "h1", CONFIG_SOURCE: "file", CONFIG_MIRROR: "h1"}
    assert (made.metadata.uid, made.metadata.resource_version, made.status) == ("", "", None)
    (owner,) = made.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller, owner.api_version) == (
        "Node",
        "n1",
        "node-uid",
        True,
        "v1",
    )
