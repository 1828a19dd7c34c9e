"""What every runtime says of itself, of its images and its events, and of what is not there."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.errors import CriError, StatusCode
from tests.simulation.cri_contract.pods import SUCCEEDS, UNKNOWN_ID, Pod, World, ask, failure, remove

# --- the runtime itself ---------------------------------------------------------------------------------------------


def test_version_and_status_are_given(world: World) -> None:
    version = ask(world, v.VERSION, m.VersionRequest(version="0.1.0"))
    assert version.version == "0.1.0"
    assert version.runtime_api_version == "v1"
    assert version.runtime_name
    conditions = ask(world, v.STATUS, m.StatusRequest()).status.conditions
    assert {c.type: c.status for c in conditions} == {"RuntimeReady": True, "NetworkReady": True}


@pytest.mark.parametrize(
    ("verb", "request_"),
    [
        (v.CONTAINER_STATUS, m.ContainerStatusRequest(container_id=UNKNOWN_ID)),
        (v.START_CONTAINER, m.StartContainerRequest(container_id=UNKNOWN_ID)),
        (v.STOP_CONTAINER, m.StopContainerRequest(container_id=UNKNOWN_ID)),
        (v.EXEC_SYNC, m.ExecSyncRequest(container_id=UNKNOWN_ID, cmd=("true",))),
        (v.EXEC, m.ExecRequest(container_id=UNKNOWN_ID, cmd=("true",), stdout=True)),
        (v.ATTACH, m.AttachRequest(container_id=UNKNOWN_ID, stdout=True)),
        (v.REOPEN_CONTAINER_LOG, m.ReopenContainerLogRequest(container_id=UNKNOWN_ID)),
        (
            v.UPDATE_CONTAINER_RESOURCES,
            m.UpdateContainerResourcesRequest(container_id=UNKNOWN_ID, linux=m.LinuxContainerResources()),
        ),
        (v.CONTAINER_STATS, m.ContainerStatsRequest(container_id=UNKNOWN_ID)),
        (v.POD_SANDBOX_STATUS, m.PodSandboxStatusRequest(pod_sandbox_id=UNKNOWN_ID)),
        (v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=UNKNOWN_ID)),
        (v.PORT_FORWARD, m.PortForwardRequest(pod_sandbox_id=UNKNOWN_ID)),
        (v.POD_SANDBOX_STATS, m.PodSandboxStatsRequest(pod_sandbox_id=UNKNOWN_ID)),
    ],
    ids=lambda value: value.name if isinstance(value, v.Verb) else "",
)
def test_an_unknown_id_is_not_found(world: World, verb: v.Verb[Any, Any], request_: Any) -> None:
    assert failure(world, verb, request_).code == StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("verb", "request_"),
    [
        (v.REMOVE_CONTAINER, m.RemoveContainerRequest(container_id=UNKNOWN_ID)),
        (v.REMOVE_POD_SANDBOX, m.RemovePodSandboxRequest(pod_sandbox_id=UNKNOWN_ID)),
        (v.REMOVE_IMAGE, m.RemoveImageRequest(image=m.ImageSpec(image="registry.invalid/none:1"))),
    ],
    ids=lambda value: value.name if isinstance(value, v.Verb) else "",
)
def test_removing_what_is_not_there_is_no_error(world: World, verb: v.Verb[Any, Any], request_: Any) -> None:
    ask(world, verb, request_)


# --- images ---------------------------------------------------------------------------------------------------------


def test_an_image_is_found_by_its_name_and_its_id(world: World) -> None:
    image = ask(world, v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image=world.image))).image
    assert image.id.startswith("sha256:")
    assert image.size > 0
    by_id = ask(world, v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image=image.id))).image
    assert by_id == image
    listed = ask(world, v.LIST_IMAGES, m.ListImagesRequest()).images
    assert image.id in {entry.id for entry in listed}


def test_an_image_that_is_not_here_is_an_empty_answer(world: World) -> None:
    spec = m.ImageSpec(image="registry.invalid/none:1")
    assert ask(world, v.IMAGE_STATUS, m.ImageStatusRequest(image=spec)).image is None


def test_the_file_system_of_images_is_known(world: World) -> None:
    answer = ask(world, v.IMAGE_FS_INFO, m.ImageFsInfoRequest())
    assert answer.image_filesystems[0].fs_id.mountpoint
    assert answer.image_filesystems[0].timestamp > 0


def test_an_invalid_image_name_has_no_image_and_cannot_be_pulled(world: World) -> None:
    image = m.ImageSpec(image="A B")
    assert ask(world, v.IMAGE_STATUS, m.ImageStatusRequest(image=image)).image is None
    ask(world, v.REMOVE_IMAGE, m.RemoveImageRequest(image=image))
    assert failure(world, v.PULL_IMAGE, m.PullImageRequest(image=image)).code == StatusCode.UNKNOWN


# --- events ---------------------------------------------------------------------------------------------------------


def test_events_come_in_order_where_they_are_served_and_are_unimplemented_elsewhere(world: World) -> None:
    seen: list[tuple[str, str]] = []
    ends: list[CriError | None] = []

    def on_item(event: m.ContainerEventResponse) -> None:
        kind = event.container_event_type.name.removeprefix("CONTAINER_").removesuffix("_EVENT")
        seen.append((event.container_id, kind))

    following = world.cri.stream(v.GET_CONTAINER_EVENTS, m.GetEventsRequest(), on_item, ends.append)
    if not world.serves_events:
        world.until(lambda: ends)
        assert ends[0] is not None
        assert ends[0].code == StatusCode.UNIMPLEMENTED
        return
    attempts = iter(range(1000))

    def follows() -> bool:
        Pod(world, "first", attempt=next(attempts))  # until the stream is known to have begun
        return bool(seen)

    world.until(follows)
    pod = Pod(world, program=SUCCEEDS)
    container = pod.exited()
    remove(world, container)
    expected = [(container, kind) for kind in ("CREATED", "STARTED", "STOPPED", "DELETED")]
    world.until(lambda: [event for event in seen if event[0] == container] == expected)
    following.close()
    world.until(lambda: ends == [None])
