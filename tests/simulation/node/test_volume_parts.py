"""Parts of volumes, images as volumes and what a start waits for, on whole nodes in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from actors.messages.events import RecordedEvent
from cli.inspect.local_views import explanation
from config.kubelet.feature_gates import FeatureGates
from config.objects import ImageVolumeStatus
from runtime.cri.messages import ContainerState
from simulation.cri import Settings
from simulation.cri.state import ContainerRecord
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import IMAGE, OTHER_IMAGE, SECOND, World, container, manifest

DATA = {"name": "data", "emptyDir": {}}
NAME = {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
REFUSED = "CreateContainerConfigError"


def part(path: str = "", expression: str = "", at: str = "/part") -> dict[str, Any]:
    how = {"subPathExpr": expression} if expression else {"subPath": path}
    return {"name": "data", "mountPath": at, **how}


def web(*mounts: dict[str, Any], **fields: Any) -> str:
    return manifest("web", [container(volumeMounts=list(mounts), **fields)], volumes=[DATA])


def host_path(world: World, inside: str = "/part") -> str:
    [record] = world.running_records()
    return _host_path(record, inside)


def _host_path(record: ContainerRecord, inside: str) -> str:
    [mount] = [each for each in record.config.mounts if each.container_path == inside]
    return mount.host_path


def waiting(world: World) -> tuple[str, str]:
    state = world.status("web").state
    assert state is not None
    return ("", "") if state.waiting is None else (state.waiting.reason or "", state.waiting.message or "")


# --- as the conformance tests of Kubernetes ask for it ----------------------------------------------------------------


# (spec 8.7.15)
def test_volume_subpath_env_expansion_subpath_expansion():
    mounts = (part(expression="$(NAME)/logs"), {"name": "data", "mountPath": "/all"})
    world = World({"web": web(*mounts, env=[NAME])}).start()
    world.until(world.settled)
    tree = world.node.host.tree
    tree.write(f"{host_path(world)}/file", b"x")
    assert tree.read(f"{host_path(world, '/all')}/web-node/logs/file") == b"x"


def test_volume_subpath_env_expansion_subpath_with_absolute_path_and_with_backticks():
    for value, said in (("/tmp", "must be relative"), ("..", "must not contain '..'")):
        env = [{"name": "WHERE", "value": value}]
        world = World({"web": web(part(expression="$(WHERE)"), env=env)}).start()
        world.run(30 * SECOND)
        reason, message = waiting(world)
        assert (reason, said in message) == (REFUSED, True), message
        assert world.running() == []


def test_volume_subpath_env_expansion_subpath_ready_from_failed_state():
    where = {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['where']"}}}
    mount = part(expression="$(WHERE)/$(NAME)")
    cluster = Cluster()
    cluster.create("web", containers=[container(volumeMounts=[mount], env=[where, NAME])], volumes=[DATA])
    cluster.run(30 * SECOND)
    [status] = cluster.pods()["web"]["status"]["containerStatuses"]
    assert status["state"]["waiting"]["reason"] == REFUSED
    pod = cluster.pods()["web"]
    pod["metadata"]["annotations"] = {"where": "here"}
    cluster.ask("PUT", "/api/v1/namespaces/default/pods/web", pod)
    assert cluster.until(lambda: cluster.all_are("Running", 1)) <= 2 * SECOND


# --- attacks and faults -----------------------------------------------------------------------------------------------


def test_a_link_out_of_the_volume_keeps_its_container_from_starting_and_the_others_run():
    links = container("links", volumeMounts=[{"name": "data", "mountPath": "/data"}])
    pod = manifest("web", [links, container(volumeMounts=[part("evil")])], volumes=[DATA])
    world = World({}).start()
    world.run(SECOND)
    world.node.put_manifest("web", pod)
    world.until(lambda: "web/links" in world.running())
    world.run(30 * SECOND)
    assert world.running() == ["web/app", "web/links"]

    [record] = [each for each in world.running_records() if each.config.metadata.name == "app"]  # type: ignore[union-attr]
    [other] = [each for each in world.running_records() if each.config.metadata.name == "links"]  # type: ignore[union-attr]
    volume = _host_path(other, "/data")
    world.node.host.tree.remove_all(f"{volume}/evil")
    world.node.host.tree.link(f"{volume}/evil", "/etc")
    world.cri.kill_container(record.id, 1)
    world.run(60 * SECOND)
    reason, message = waiting(world)
    assert reason == REFUSED
    assert "leads out of the volume through a symbolic link" in message
    assert 'volumeMount "data" of container "app"' in message
    assert world.running() == ["web/links"]

    world.node.host.tree.remove_all(f"{volume}/evil")
    world.run(30 * SECOND)
    assert world.running() == ["web/app", "web/links"]


def test_a_volume_that_hangs_when_a_part_of_it_is_to_be_mounted_costs_its_own_pod_only():
    world = World({"web": web(part("a"))}).start()
    world.until(world.settled)
    tree = world.node.host.tree
    volume = tree.read_link(host_path(world)).removesuffix("/a")
    tree.hang(volume)
    [record] = world.running_records()
    world.cri.kill_container(record.id, 1)
    world.run(60 * SECOND)
    assert world.running() == []
    assert waiting(world)[0] == REFUSED
    for number in range(20):
        world.node.put_manifest(f"other-{number}", manifest(f"other-{number}", volumes=[DATA]))
    began = world.seconds()
    world.until(lambda: len(world.running()) == 20)
    assert world.seconds() - began < 25, "no longer than without the other"
    tree.heal(volume)
    world.until(lambda: len(world.running()) == 21, 60 * SECOND)


# --- starts -----------------------------------------------------------------------------------------------------------


def test_a_container_that_is_started_again_gets_its_parts_anew():
    world = World({"web": web(part("a"))}).start()
    world.until(world.settled)
    tree = world.node.host.tree
    place = host_path(world)
    volume = tree.read_link(place).removesuffix("/a")
    tree.link(f"{volume}/b", "c")
    tree.remove_all(f"{volume}/a")
    tree.link(f"{volume}/a", "b")
    [record] = world.running_records()
    world.cri.kill_container(record.id, 1)
    world.run(30 * SECOND)
    assert tree.read_link(host_path(world)) == f"{volume}/c"


def test_a_part_that_nobody_has_answered_for_is_asked_for_again_by_a_restarted_agent():
    world = World({"web": web(part("a"))}).start()
    world.run(SECOND // 100)
    world.node.restart_agent()
    world.until(world.settled)
    assert host_path(world).endswith("/volume-subpaths/data/app/0")


# --- images -----------------------------------------------------------------------------------------------------------


def pictures(reference: str, policy: str = "IfNotPresent") -> dict[str, Any]:
    return {"name": "pictures", "image": {"reference": reference, "pullPolicy": policy}}


def showing(volume: dict[str, Any]) -> str:
    mounts = [{"name": "pictures", "mountPath": "/p", "subPath": "a"}]
    return manifest("web", [container(volumeMounts=mounts)], volumes=[volume])


# (spec 8.7.13)
def test_an_image_is_mounted_by_the_runtime_and_nothing_of_it_lies_in_the_pod():
    world = World({"web": showing(pictures(OTHER_IMAGE))}).start()
    world.until(world.settled)
    [record] = world.running_records()
    [mount] = [each for each in record.config.mounts if each.container_path == "/p"]
    assert mount.image is not None
    assert mount.image.user_specified_image == OTHER_IMAGE
    assert (mount.host_path, mount.image_sub_path, mount.readonly) == ("", "a", True)


# (spec 3.6.5)
def test_an_image_that_is_not_there_is_pulled_for_the_volume():
    image = "docker.io/library/pictures:7"
    world = World({"web": showing(pictures(image))}).start()
    world.until(world.settled)
    assert any(text.startswith(f'Pulled: Successfully pulled image "{image}"') for text in world.said("web"))
    [record] = world.running_records()
    assert record.state is ContainerState.CONTAINER_RUNNING


@pytest.mark.parametrize("gate", [False, True])
# (spec 4.2.10)
def test_a_status_names_the_image_of_a_volume_by_its_id_where_the_gate_is_on(gate: bool) -> None:
    world = World({"web": showing(pictures(OTHER_IMAGE))}, gates=FeatureGates({"ImageVolumeWithDigest": gate})).start()
    world.until(world.settled)
    [record] = world.running_records()
    [mounted] = [mount.image.image for mount in record.config.mounts if mount.image is not None]
    shown = [each.volume_status.image for each in world.status("web").volume_mounts if each.volume_status is not None]
    assert shown == ([ImageVolumeStatus(image_ref=mounted)] if gate else [])


def test_an_image_of_a_volume_that_is_here_is_said_once_of_the_pod():
    world = World({"web": showing(pictures(OTHER_IMAGE))}).start()
    world.until(world.settled)
    text = f'Container image "{OTHER_IMAGE}" already present on machine and can be accessed by the pod'
    assert [(each.count, each.event.field_path) for each in events(world, text)] == [(1, "")]


# (spec 3.6.5)
def test_an_image_of_a_volume_comes_before_the_image_of_its_container():
    world = World({"web": showing(pictures(OTHER_IMAGE))}).start()
    world.until(world.settled)
    told = [text for text in world.said("web") if text.startswith("Pulled")]
    assert [OTHER_IMAGE in text for text in told] == [True, False]


def test_nothing_is_done_about_the_image_of_a_container_whose_volume_gets_none():
    settings = Settings(images=(), registry=frozenset({IMAGE}))
    world = World({"web": showing(pictures("docker.io/library/pictures:7"))}, settings=settings).start()
    world.until(lambda: world.phases().get("web") == "Pending" and waiting(world)[0] == "ImagePullBackOff")
    assert not [text for text in world.said("web") if f'"{IMAGE}"' in text]


def test_an_image_of_a_volume_that_cannot_be_pulled_is_said_of_the_pod_and_of_the_container():
    image = "docker.io/library/pictures:7"
    settings = Settings(images=(IMAGE,), registry=frozenset())
    world = World({"web": showing(pictures(image))}, settings=settings).start()
    world.until(lambda: world.phases().get("web") == "Pending" and waiting(world)[0] == "ErrImagePull")
    world.until(lambda: waiting(world)[0] == "ImagePullBackOff")
    container_path = "spec.containers{app}"
    assert [each.event.field_path for each in events(world, "Error: ErrImagePull")] == [container_path]
    assert [each.event.field_path for each in events(world, "Error: ImagePullBackOff")] == [container_path]
    assert [each.event.field_path for each in events(world, f'Back-off pulling image "{image}"')] == [""]
    assert [each.event.field_path for each in events(world, f'Pulling image "{image}"')] == [""]


def events(world: World, message: str) -> list[RecordedEvent]:
    """What this node has told of the pod in those words."""
    return [each for each in world.node.node.events() if each.event.message == message]


def test_explain_names_the_mounted_images_a_container_waits_for():
    slowly = Settings(images=(IMAGE,), pull_rate_bytes_per_s=1)
    world = World({"web": showing(pictures("docker.io/library/pictures:7"))}, settings=slowly).start()
    world.run(30 * SECOND)
    [wait] = explanation(world.node.node, "web").waits
    assert (wait.subject, wait.text) == ("container app", "the images that it mounts are being pulled")


def test_an_image_that_may_not_be_pulled_refuses_the_container_with_the_reason_of_an_image():
    world = World({"web": showing(pictures("docker.io/library/none:1", "Never"))}).start()
    world.run(30 * SECOND)
    assert waiting(world)[0] == "ErrImageNeverPull"
    assert IMAGE not in waiting(world)[1]
    assert world.running() == []
