"""Who a container is: named fields, and who they are compared with."""

from __future__ import annotations

import msgspec
import pytest

from config.objects import (
    ContainerPort,
    EnvVar,
    ExecAction,
    HTTPGetAction,
    HTTPHeader,
    Lifecycle,
    LifecycleHandler,
)
from runtime.cri import identity
from runtime.cri.identity import (
    CONTAINER_HASH,
    CONTAINER_IMAGE,
    DELETION_GRACE_PERIOD,
    PORTS,
    PRE_STOP_HANDLER,
    RESTART_COUNT,
    SANDBOX_ATTEMPT,
    SCHEMA,
    TERMINATION_GRACE_PERIOD,
    container_annotations,
    container_hash,
    container_labels,
    lasting_annotations,
    same_definition,
    whole_number,
)
from tests.actors.pod_pictures import container, pod

WEB = container("web")


# (spec 3.8.2)
def test_labels_lead_to_the_pod_and_leave_its_own_labels_out() -> None:
    labels = container_labels(pod(WEB, meta={"labels": {"app": "shop"}}), WEB, 3)
    assert labels == {
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "shop",
        "io.kubernetes.pod.uid": "uid-1",
        "io.kubernetes.container.name": "web",
        SCHEMA: "1",
        SANDBOX_ATTEMPT: "3",
    }


# (spec 3.8.3)
def test_annotations_tell_how_to_end_it_when_the_spec_is_lost() -> None:
    hook = LifecycleHandler(exec=ExecAction(command=("drain",)))
    web = container("web", lifecycle=Lifecycle(pre_stop=hook), ports=(ContainerPort(container_port=80),))
    the_pod = pod(web, termination_grace_period_seconds=30, meta={"deletion_grace_period_seconds": 5})
    notes = container_annotations(
        the_pod, lasting_annotations(the_pod.spec, web), 2, termination_file="/f", back_off_ns=9
    )
    assert (notes[TERMINATION_GRACE_PERIOD], notes[DELETION_GRACE_PERIOD], notes[RESTART_COUNT]) == ("30", "5", "2")
    assert msgspec.json.decode(notes[PRE_STOP_HANDLER], type=LifecycleHandler) == hook
    assert msgspec.json.decode(notes[PORTS]) == [{"containerPort": 80}]
    assert (notes[identity.TERMINATION_MESSAGE_FILE], notes[identity.BACK_OFF_NS]) == ("/f", "9")


def test_the_image_decides_whether_a_container_is_what_the_pod_asks_for() -> None:
    labels = container_labels(pod(WEB), WEB, 0)
    one = pod(WEB)
    notes = container_annotations(one, lasting_annotations(one.spec, WEB), 0, termination_file="", back_off_ns=0)
    assert same_definition(WEB, labels, notes)
    assert same_definition(msgspec.structs.replace(WEB, env=(EnvVar(name="A"),)), labels, notes)
    assert not same_definition(msgspec.structs.replace(WEB, image="image:2"), labels, notes)


@pytest.mark.parametrize(
    ("labels", "notes"),
    [
        ({}, {}),
        ({}, {CONTAINER_HASH: "0"}),
        ({}, {CONTAINER_HASH: "not a hash"}),
        ({SCHEMA: "2"}, {CONTAINER_IMAGE: "x"}),
        ({SCHEMA: "2"}, {CONTAINER_HASH: "1"}),
    ],
)
def test_a_container_made_by_another_agent_counts_as_unchanged(labels: dict[str, str], notes: dict[str, str]) -> None:
    assert same_definition(WEB, labels, notes)


@pytest.mark.parametrize(
    ("name", "image", "written"),
    [
        ("web", "image:1", "c8d4bc82"),
        ("web", "image:2", "cb09a284"),
        ("app", "docker.io/library/busybox:1.36", "13385bb0"),
        ("a", "r.example/x&y<z>@sha256:0", "c89385b8"),
    ],
)
# (spec 3.5.1)
def test_the_hash_is_the_one_that_a_kubelet_writes(name: str, image: str, written: str) -> None:
    assert container_hash(container(name, image=image)) == written


# (spec 3.8.3)
def test_ports_and_hooks_are_written_as_go_writes_them() -> None:
    """Byte for byte: a kubelet 1.36 was shown this container."""
    get = HTTPGetAction(path="/a?b&c", port=8080, host="h", scheme="HTTP", http_headers=(HTTPHeader("X-A", "<b>"),))
    web = container(
        "web",
        lifecycle=Lifecycle(pre_stop=LifecycleHandler(http_get=get)),
        ports=(ContainerPort(name="w", host_port=80, container_port=8080, protocol="TCP", host_ip="127.0.0.1"),),
    )
    notes = lasting_annotations(pod(web).spec, web)
    assert notes[PORTS] == ('[{"name":"w","hostPort":80,"containerPort":8080,"protocol":"TCP","hostIP":"127.0.0.1"}]')
    assert notes[PRE_STOP_HANDLER] == (
        r'{"httpGet":{"path":"/a?b\u0026c","port":8080,"host":"h","scheme":"HTTP",'
        r'"httpHeaders":[{"name":"X-A","value":"\u003cb\u003e"}]}}'
    )


# (spec 3.5.1)
def test_a_changed_image_ends_the_container_of_a_kubelet() -> None:
    notes = {CONTAINER_HASH: "c8d4bc82"}
    assert same_definition(container("web", image="image:1"), {}, notes)
    assert not same_definition(container("web", image="image:2"), {}, notes)


# (spec 3.5.1)
def test_the_hash_covers_name_and_image_alone() -> None:
    assert container_hash(WEB) == container_hash(msgspec.structs.replace(WEB, args=("x",)))
    others = [container("web", image="image:2"), container("wab")]
    assert len({container_hash(each) for each in (WEB, *others)}) == 3


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), (None, None), ("", None), ("-1", None), ("٣", None), ("1e3", None)]
)
def test_numbers_in_annotations(text: str | None, number: int | None) -> None:
    assert whole_number(text) == number
