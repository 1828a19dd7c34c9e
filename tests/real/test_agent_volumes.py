"""Volumes as containers on containerd see them.

What lies in them, whose it is, what may be written, and what a malicious container gets of the host.
"""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from runtime.volumes.mounts import KernelMounts
from tests.real.agent import NODE, Agent
from tests.real.pods import STAY, Truth, container, pod

REFUSED = "CreateContainerConfigError"


def waiting(agent: Agent, name: str, reason: str, container_name: str = "main") -> str:
    """The message of a container that waits for this reason; empty while it does not."""
    status = agent.container(name, container_name)
    state = status.state.waiting if status is not None and status.state is not None else None
    return (state.message or "") if state is not None and state.reason == reason else ""


def await_refusal(agent: Agent, name: str, text: str, reason: str = REFUSED) -> None:
    agent.await_that(lambda: text in waiting(agent, name, reason), f"{name} is not refused with {text!r}")


def is_said(agent: Agent, text: str) -> bool:
    return text in event_texts(agent, "FailedMount")


def event_texts(agent: Agent, reason: str) -> list[str]:
    return [each.event.message or "" for each in agent.events() if each.event.reason == reason]


def hosted(name: str, path: Path | str, kind: str = "") -> dict[str, Any]:
    return {"name": name, "hostPath": {"path": str(path), **({"type": kind} if kind else {})}}


def test_empty_dirs_on_disk_and_in_memory_as_large_as_they_may_be(agent: Agent, truth: Truth) -> None:
    volumes = [
        {"name": "disk", "emptyDir": {}},
        {"name": "mem", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    ]
    mounts = [
        {"name": "disk", "mountPath": "/disk"},
        {"name": "mem", "mountPath": "/mem"},
        {"name": "mem", "mountPath": "/part", "subPath": "part"},
    ]
    main = container("main", volumeMounts=mounts, securityContext={"runAsUser": 1000})
    agent.drop("plain.json", pod("plain", container("main", volumeMounts=mounts), volumes=volumes))
    agent.drop("empty.json", pod("empty", main, volumes=volumes, securityContext={"fsGroup": 777}))
    agent.start()
    agent.await_running("empty", "plain")
    modes = truth.run(truth.running("plain"), "stat", "-c", "%a", "/disk", "/mem", "/part")
    assert modes == "777\n1777\n1777\n"
    inside = truth.running("empty")
    assert truth.run(inside, "stat", "-c", "%a %g", "/disk", "/mem", "/part") == "2777 777\n3777 777\n3777 777\n"
    assert "tmpfs" in truth.run(inside, "sh", "-c", "grep ' /mem ' /proc/mounts")
    blocks = truth.run(inside, "sh", "-c", "df -k /mem | tail -1").split()
    assert blocks[1] == "1024"
    said = truth.run(inside, "sh", "-c", "head -c 2000000 /dev/zero 2>/dev/null >/mem/x || echo full; echo a >/disk/f")
    assert said == "full\n"
    assert truth.run(inside, "stat", "-c", "%u %g", "/disk/f") == "1000 777\n"
    uid = agent.pod("empty").metadata.uid
    assert (agent.pod_directory(uid) / "plugins/kubernetes.io~empty-dir/mem/ready").exists()


def test_parts_of_volumes_are_mounted_anew_for_each_start(agent: Agent, truth: Truth) -> None:
    mounts = [
        {"name": "data", "mountPath": "/part", "subPath": "a/b"},
        {"name": "data", "mountPath": "/own", "subPathExpr": "of-$(WHO)"},
        {"name": "data", "mountPath": "/file", "subPath": "given/file"},
        {"name": "data", "mountPath": "/read", "subPath": "given", "readOnly": True},
        {"name": "data", "mountPath": "/all"},
    ]
    env = [{"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    first = container(
        "first", "mkdir /all/given; echo x >/all/given/file", volumeMounts=[{"name": "data", "mountPath": "/all"}]
    )
    main = container("main", volumeMounts=mounts, env=env)
    document = pod("parts", main, volumes=[{"name": "data", "emptyDir": {}}], initContainers=[first])
    manifest = agent.drop("parts.json", document)
    agent.start()
    agent.await_running("parts")
    inside = truth.running("parts")
    script = "echo 1 >/part/one; echo 2 >/own/two; cat /file; touch /read/x 2>&1 | grep -o Read-only; ls /all"
    said = truth.run(inside, "sh", "-c", script).split()
    assert said == ["x", "Read-only", "a", "given", f"of-parts-{NODE}"]
    assert truth.run(inside, "cat", "/all/a/b/one", f"/all/of-parts-{NODE}/two") == "1\n2\n"
    assert truth.run(inside, "stat", "-c", "%a", "/part") == "777\n"

    uid = agent.pod("parts").metadata.uid
    places = agent.pod_directory(uid) / "volume-subpaths/data/main"
    assert sorted(path.name for path in places.iterdir()) == ["0", "1", "2", "3"]
    truth.run(inside, "sh", "-c", "mv /all/given /all/before; mkdir /all/given; echo new >/all/given/file")
    assert truth.run(inside, "cat", "/file") == "x\n"
    truth.end(inside)
    agent.await_that(lambda: len(truth.lives("parts", "main")) == 2, "the container is not started again")
    assert truth.run(truth.running("parts"), "cat", "/file") == "new\n"
    assert len(KernelMounts().below(str(places))) == 4

    manifest.unlink()
    agent.await_that(lambda: not agent.pod_directory(uid).exists(), "the pod's directory stays")
    assert KernelMounts().below(str(agent.pod_directory(uid))) == ()


def test_a_link_that_leads_a_part_of_a_volume_out_of_it_gets_nothing_of_the_host(agent: Agent, truth: Truth) -> None:
    secret = agent.directory / "secret"
    secret.mkdir()
    (secret / "file").write_text("of the host")
    links = f"ln -s {secret} /data/straight; ln -s ../../../../../../.. /data/up; mkdir /data/a; ln -s /etc /data/a/b"
    first = container("first", links, volumeMounts=[{"name": "data", "mountPath": "/data"}])
    for name, path in (
        ("straight", "straight"),
        ("up", f"up{secret}"),
        ("deep", "a/b/passwd"),
        ("file", "straight/file"),
    ):
        main = container("main", volumeMounts=[{"name": "data", "mountPath": "/x", "subPath": path}])
        agent.drop(f"{name}.json", pod(name, main, volumes=[{"name": "data", "emptyDir": {}}], initContainers=[first]))
    agent.start()
    for name in ("straight", "up", "deep", "file"):
        await_refusal(agent, name, "leads out of the volume through a symbolic link")
        assert truth.lives(name, "main") == ()
    text = waiting(agent, "deep", REFUSED)
    assert 'failed to prepare subPath for volumeMount "data" of container "main"' in text
    assert "Error: " + text in event_texts(agent, "Failed")


# (spec 8.7.16)
def test_mounts_travel_as_far_as_their_propagation_says(agent: Agent, truth: Truth) -> None:
    def mount(how: str) -> list[dict[str, Any]]:
        return [{"name": "data", "mountPath": "/data", "mountPropagation": how}]

    script = f"mkdir /data/made; mount -t tmpfs -o size=1m made /data/made; echo x >/data/made/file; {STAY}"
    giving = container("giving", script, volumeMounts=mount("Bidirectional"), securityContext={"privileged": True})
    taking, closed = (
        container(name, volumeMounts=mount(how)) for name, how in (("taking", "HostToContainer"), ("closed", "None"))
    )
    # The one that gives comes last, so that the others were there before its mount.
    manifest = agent.drop(
        "travel.json", pod("travel", taking, closed, giving, volumes=[{"name": "data", "emptyDir": {}}])
    )
    agent.start()
    agent.await_running("travel")
    uid = agent.pod("travel").metadata.uid
    volume = agent.pod_directory(uid) / "volumes/kubernetes.io~empty-dir/data"
    agent.await_that(lambda: (volume / "made/file").exists(), "the mount does not reach the host")
    assert truth.run(truth.running("travel", "taking"), "cat", "/data/made/file") == "x\n"
    assert truth.run(truth.running("travel", "closed"), "ls", "/data/made") == ""
    (volume / "other").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "other", str(volume / "other")], check=True)
    (volume / "other/file").write_text("y\n")
    for name in ("taking", "giving"):
        assert truth.run(truth.running("travel", name), "cat", "/data/other/file") == "y\n"
    manifest.unlink()
    agent.await_that(lambda: not agent.pod_directory(uid).exists(), "the pod's directory stays", 40)
    assert KernelMounts().below(str(volume)) == ()


# (spec 8.7.5)
def test_paths_of_the_host_are_checked_or_made_as_their_type_says(agent: Agent, truth: Truth) -> None:
    place = agent.directory / "host"
    place.mkdir()
    (place / "file").write_text("x\n")
    good = [
        hosted("dir", place / "made", "DirectoryOrCreate"),
        hosted("new", place / "new", "FileOrCreate"),
        hosted("file", place / "file", "File"),
        hosted("null", "/dev/null", "CharDevice"),
    ]
    mounts = [{"name": each["name"], "mountPath": f"/x/{each['name']}"} for each in good]
    agent.drop("good.json", pod("good", container("main", volumeMounts=mounts), volumes=good))
    bad = {"Directory": "file", "File": "made", "Socket": "file", "CharDevice": "file", "BlockDevice": "file"}
    agent.start()
    agent.await_running("good")
    inside = truth.running("good")
    assert truth.run(inside, "sh", "-c", "cat /x/file; echo y >/x/dir/y; echo z >/x/new; test -c /x/null") == "x\n"
    assert ((place / "made/y").read_text(), (place / "new").read_text()) == ("y\n", "z\n")
    for kind, path in bad.items():
        main = container("main", volumeMounts=[{"name": "v", "mountPath": "/x"}])
        agent.drop(f"{kind}.json", pod(kind.lower(), main, volumes=[hosted("v", place / path, kind)]))
    words = {
        "Directory": "a directory",
        "File": "a file",
        "Socket": "a socket file",
        "CharDevice": "a character device",
        "BlockDevice": "a block device",
    }
    for kind, path in bad.items():
        text = (
            f'MountVolume.SetUp failed for volume "v" : hostPath type check failed: {place}/{path} is not {words[kind]}'
        )
        agent.await_that(partial(is_said, agent, text), f"nothing says {text}")


def test_a_kind_that_is_not_served_says_what_to_use_instead(agent: Agent) -> None:
    main = container("main", volumeMounts=[{"name": "code", "mountPath": "/x"}])
    volume = {"name": "code", "gitRepo": {"repository": "https://example.test/x.git"}}
    agent.drop("git.json", pod("git", main, volumes=[volume]))
    agent.start()
    agent.await_that(
        lambda: any("clone in an init container" in text for text in event_texts(agent, "FailedMount")),
        "nothing says why the gitRepo is not served",
    )


# --- read only with all below, and images: what the older runtime cannot is shown on a newer one ----------------------


def _below(agent: Agent) -> dict[str, Any]:
    """A directory of the host with another file system in it."""
    place = agent.root / "outer"
    (place / "inner").mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "inner", str(place / "inner")], check=True)
    return hosted("outer", place)


def _read_only(how: str) -> dict[str, Any]:
    return {"name": "outer", "mountPath": "/x", "readOnly": True, "recursiveReadOnly": how}


def _shown(agent: Agent, name: str) -> list[str | None]:
    status = agent.container(name)
    return [each.recursive_read_only for each in status.volume_mounts] if status is not None else []


def test_kep_3857_a_runtime_that_cannot_refuses_what_is_demanded_and_shows_what_it_did(
    agent: Agent, truth: Truth
) -> None:
    outer = _below(agent)
    for name, how in (("must", "Enabled"), ("may", "IfPossible")):
        agent.drop(f"{name}.json", pod(name, container("main", volumeMounts=[_read_only(how)]), volumes=[outer]))
    agent.start()
    agent.await_running("may")
    assert truth.run(truth.running("may"), "sh", "-c", "touch /x/inner/a; touch /x/a 2>&1 | grep -o Read-only") == (
        "Read-only\n"
    )
    assert _shown(agent, "may") == ["Disabled"]
    await_refusal(agent, "must", "the handler of the runtime does not support it")


def test_kep_3857_a_mount_is_read_only_with_all_that_is_mounted_below(newer_agent: Agent, newer_truth: Truth) -> None:
    agent, truth = newer_agent, newer_truth
    outer = _below(agent)
    for name, how in (("must", "Enabled"), ("may", "IfPossible"), ("not", "Disabled")):
        agent.drop(f"{name}.json", pod(name, container("main", volumeMounts=[_read_only(how)]), volumes=[outer]))
    agent.start()
    agent.await_running("must", "may", "not")
    for name, shown in (("must", "Enabled"), ("may", "Enabled"), ("not", "Disabled")):
        said = truth.run(truth.running(name), "sh", "-c", "touch /x/inner/a 2>&1 | grep -o Read-only; true")
        assert (said, _shown(agent, name)) == ("Read-only\n" if shown == "Enabled" else "", [shown])


# (spec 17.6.4)
def test_17_6_files_have_the_same_owners_inside_a_pod_with_its_own_users(
    newer_agent: Agent, newer_truth: Truth
) -> None:
    agent, truth = newer_agent, newer_truth
    volumes = [{"name": "disk", "emptyDir": {}}, {"name": "mem", "emptyDir": {"medium": "Memory"}}]
    mounts = [
        {"name": "disk", "mountPath": "/disk"},
        {"name": "mem", "mountPath": "/mem"},
        {"name": "disk", "mountPath": "/part", "subPath": "a"},
    ]
    main = container("main", volumeMounts=mounts, securityContext={"runAsUser": 1000})
    context = {"fsGroup": 777}
    agent.drop("own.json", pod("own", main, volumes=volumes, hostUsers=False, securityContext=context))
    agent.start()
    agent.await_running("own")
    script = "touch /disk/f /mem/f /part/f; stat -c '%u %g' /disk /mem /part /disk/f /mem/f /part/f"
    said = truth.run(truth.running("own"), "sh", "-c", script)
    assert said.splitlines() == ["0 777"] * 3 + ["1000 777"] * 3
    uid = agent.pod("own").metadata.uid
    written = agent.pod_directory(uid) / "volumes/kubernetes.io~empty-dir/disk/a/f"
    assert (written.stat().st_uid, written.stat().st_gid) == (1000, 777)


IMAGE = {"name": "image", "image": {"reference": "actorlet.test/busybox:2"}}
ALL_OF_IT = {"name": "image", "mountPath": "/x"}
A_PART_OF_IT = {"name": "image", "mountPath": "/x", "subPath": "bin"}


def test_a_runtime_that_does_not_know_volumes_of_images_is_not_asked_for_them(agent: Agent, truth: Truth) -> None:
    agent.drop("image.json", pod("image", container("main", volumeMounts=[ALL_OF_IT]), volumes=[IMAGE]))
    agent.start()
    await_refusal(agent, "image", "does not know volumes of images, containerd 2.1 does")
    assert truth.lives("image") == ()


def test_files_of_an_image_are_a_volume_that_is_read_only(newer_agent: Agent, newer_truth: Truth) -> None:
    agent, truth = newer_agent, newer_truth
    agent.drop("image.json", pod("image", container("main", volumeMounts=[ALL_OF_IT]), volumes=[IMAGE]))
    agent.drop("part.json", pod("part", container("main", volumeMounts=[A_PART_OF_IT]), volumes=[IMAGE]))
    missing = {"name": "image", "image": {"reference": "actorlet.test/nothing:1", "pullPolicy": "Never"}}
    agent.drop("never.json", pod("never", container("main", volumeMounts=[ALL_OF_IT]), volumes=[missing]))
    agent.start()
    agent.await_running("image")
    inside = truth.running("image")
    assert truth.run(inside, "sh", "-c", "cat /x/etc/passwd; touch /x/a 2>&1 | grep -o Read-only").endswith("only\n")
    await_refusal(agent, "never", "pull policy is Never", "ErrImageNeverPull")
    # What this runtime makes of it is the whole image.
    await_refusal(agent, "part", "does not know parts (subPath) of volumes of images, containerd 2.2 does")
