"""From the runtime's messages to one picture of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.observed import ObservedPod, observe, observed_container, observed_sandbox, with_refreshed
from runtime.cri.identity import (
    BACK_OFF_NS,
    CONTAINER_NAME,
    POD_UID,
    RESTART_COUNT,
    SANDBOX_ATTEMPT,
    TERMINATION_MESSAGE_FILE,
    TERMINATION_MESSAGE_PATH,
)
from runtime.cri.messages import (
    ContainerMetadata,
    ContainerState,
    ContainerStatus,
    ImageSpec,
    LinuxPodSandboxStatus,
    Mount,
    Namespace,
    NamespaceMode,
    NamespaceOption,
    PodIP,
    PodSandboxMetadata,
    PodSandboxNetworkStatus,
    PodSandboxState,
    PodSandboxStatus,
)


def box(attempt: int, created_at: int = 0, ready: bool = True, **fields: Any) -> PodSandboxStatus:
    state = PodSandboxState.SANDBOX_READY if ready else PodSandboxState.SANDBOX_NOTREADY
    return PodSandboxStatus(
        id=f"box-{attempt}", metadata=PodSandboxMetadata(attempt=attempt), state=state, created_at=created_at, **fields
    )


def made(container_id: str, attempt: int, created_at: int = 0, **fields: Any) -> ContainerStatus:
    return ContainerStatus(
        id=container_id, metadata=ContainerMetadata(name="web", attempt=attempt), created_at=created_at, **fields
    )


def look(*parts: PodSandboxStatus | ContainerStatus) -> ObservedPod:
    sandboxes = tuple(observed_sandbox(each) for each in parts if isinstance(each, PodSandboxStatus))
    containers = [observed_container(each) for each in parts if isinstance(each, ContainerStatus)]
    return observe("uid-1", sandboxes, containers)


# (spec 3.14.2)
def test_everything_is_newest_first_by_attempt_even_when_the_clock_went_back() -> None:
    seen = look(box(0, created_at=900), box(2, created_at=100), made("x", 0, 900), made("z", 2, 100), made("y", 1, 500))
    assert [each.attempt for each in seen.sandboxes] == [2, 0]
    assert [each.id for each in seen.by_name["web"]] == ["z", "y", "x"]
    newest = seen.newest("web")
    assert newest is not None
    assert newest.id == "z"
    assert seen.newest("other") is None


def test_a_picture_with_refreshed_containers_is_the_one_made_anew() -> None:
    boxes = (box(0), box(1, created_at=10))
    before = (made("x", 0, 9), made("y", 1, 10))
    after = (made("x", 0, 9, exit_code=3), made("y", 1, 10), made("z", 2, 11))
    refreshed = [observed_container(each) for each in (after[0], after[2])]
    assert with_refreshed(look(*boxes, *before), refreshed) == look(*boxes, *after)


# (spec 3.14.2)
def test_the_label_says_which_sandbox_a_container_is_in() -> None:
    seen = look(box(0), box(1, created_at=10), made("x", 0, 99, labels={SANDBOX_ATTEMPT: "0"}))
    assert seen.by_name["web"][0].sandbox_attempt == 0


def test_without_the_label_it_is_the_newest_that_is_not_younger() -> None:
    seen = look(box(0), box(1, created_at=10), made("x", 0, 9), made("y", 1, 10))
    assert [each.sandbox_attempt for each in seen.by_name["web"]] == [1, 0]


def test_notes_on_a_container_are_read_and_nonsense_in_them_is_not() -> None:
    notes = {RESTART_COUNT: "7", BACK_OFF_NS: "42", TERMINATION_MESSAGE_FILE: "/f"}
    [good] = look(made("x", 0, annotations=notes)).by_name["web"]
    assert (good.attempt, good.back_off_ns, good.termination_file) == (7, 42, "/f")
    [bad] = look(made("x", 3, annotations={RESTART_COUNT: "many", BACK_OFF_NS: "-1"})).by_name["web"]
    assert (bad.attempt, bad.back_off_ns, bad.termination_file) == (3, None, "")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/root/pods/uid-1/containers/web/3941c736", True),
        ("/root/pods/uid-2/containers/web/3941c736", False),
        ("/root/pods/uid-1/containers/wab/3941c736", False),
        ("/root/pods/uid-1/containers/web/../../../../etc/passwd", False),
        ("/etc/passwd", False),
    ],
)
def test_the_message_of_a_container_that_a_kubelet_made_is_among_its_mounts(path: str, found: bool) -> None:
    labels, notes = {CONTAINER_NAME: "web", POD_UID: "uid-1"}, {TERMINATION_MESSAGE_PATH: "/dev/log"}
    mounts = (Mount(container_path="/etc/hosts", host_path="/h"), Mount(container_path="/dev/log", host_path=path))
    [seen] = look(made("x", 0, labels=labels, annotations=notes, mounts=mounts)).by_name["web"]
    assert seen.termination_file == (path if found else "")
    [other] = look(made("x", 0, labels=labels, mounts=mounts)).by_name["web"]
    assert other.termination_file == "", "a container without a path has no message"


def test_the_name_comes_from_the_label_or_the_runtime_and_the_nameless_is_left_out() -> None:
    seen = look(made("x", 0, labels={CONTAINER_NAME: "other"}), ContainerStatus(id="nobody"))
    assert list(seen.by_name) == ["other"]


def test_addresses_are_those_of_the_newest_ready_sandbox() -> None:
    network = PodSandboxNetworkStatus(ip="10.0.0.1", additional_ips=(PodIP(ip="fd00::1"),))
    seen = look(box(1, ready=False), box(0, network=network))
    assert seen.ips() == ("10.0.0.1", "fd00::1")
    assert look(box(0, ready=False, network=network)).ips() == ()


def test_an_address_that_is_missing_differs_from_one_that_is_not_told() -> None:
    assert look(box(0, network=PodSandboxNetworkStatus())).sandboxes[0].networked
    assert not look(box(0)).sandboxes[0].networked


def test_the_network_namespace_is_told_or_not_known() -> None:
    linux = LinuxPodSandboxStatus(namespaces=Namespace(options=NamespaceOption(network=NamespaceMode.NODE)))
    assert look(box(0, linux=linux)).sandboxes[0].host_network is True
    assert look(box(0)).sandboxes[0].host_network is None


def test_a_container_state_says_whether_it_may_run_and_whether_it_failed() -> None:
    def state(value: ContainerState, **fields: Any) -> tuple[bool, bool, bool]:
        [each] = look(made("x", 0, state=value, **fields)).by_name["web"]
        return each.may_run, each.exited, each.failed

    assert state(ContainerState.CONTAINER_RUNNING) == (True, False, False)
    assert state(ContainerState.CONTAINER_UNKNOWN) == (True, False, False)
    assert state(ContainerState(77)) == (True, False, False), "a state that we do not know may be a living one"
    assert state(ContainerState.CONTAINER_CREATED) == (False, False, False)
    assert state(ContainerState.CONTAINER_EXITED) == (False, True, False)
    assert state(ContainerState.CONTAINER_EXITED, exit_code=1) == (False, True, True)
    assert state(ContainerState.CONTAINER_EXITED, reason="OOMKilled") == (False, True, True)


# (spec 3.14.1)
def test_the_image_is_the_one_the_user_wrote_where_the_runtime_tells_it() -> None:
    [each] = look(made("x", 0, image=ImageSpec(image="sha256:1", user_specified_image="web:1"), image_ref="r")).by_name[
        "web"
    ]
    assert (each.image, each.image_id, each.image_ref) == ("web:1", "r", "r")
