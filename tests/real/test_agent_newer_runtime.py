"""Features of containerd since 2.0, shown on one (spec 17.4, 17.6).

Pods with their own users, unmasked /proc, the policy Strict of groups.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.real.agent import Agent
from tests.real.containerd import Containerd
from tests.real.pods import Truth, container, pod

IDS = 65536


def host_pid(containerd: Containerd, truth: Truth, name: str) -> int:
    """The first process of a container, as this machine numbers it."""
    id_ = truth.running(name).id
    (line,) = (line for line in containerd.ctr("tasks", "ls").splitlines() if line.startswith(id_))
    return int(line.split()[1])


def owner_on_host(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def id_map(truth: Truth, name: str, kind: str = "uid") -> list[int]:
    """First id inside, first id of the host, how many."""
    return [int(each) for each in truth.run(truth.running(name), "cat", f"/proc/1/{kind}_map").split()]


def test_17_6_pods_have_users_of_their_own(
    newer_agent: Agent, newer_truth: Truth, newer_containerd: Containerd
) -> None:
    agent, truth = newer_agent, newer_truth
    fields = [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o400}]
    volumes = [{"name": "own", "emptyDir": {}}, {"name": "down", "downwardAPI": {"items": fields}}]
    mounts = [{"name": "own", "mountPath": "/own"}, {"name": "down", "mountPath": "/down"}]
    bare = container("bare", securityContext={"procMount": "Unmasked"})
    user = container("user", securityContext={"runAsUser": 1000}, volumeMounts=mounts)
    first = pod("first", container(volumeMounts=mounts), user, bare, volumes=volumes, hostUsers=False)
    first["spec"]["securityContext"] = {"fsGroup": 2000}
    manifest = agent.drop("first.json", first)
    agent.drop("second.json", pod("second", hostUsers=False))
    agent.drop("usual.json", pod("usual"))
    agent.start()
    agent.await_running("first", "second", "usual")

    assert id_map(truth, "usual")[:2] == [0, 0]
    maps = {name: id_map(truth, name) for name in ("first", "second")}
    for name, (inside, outside, length) in maps.items():
        assert (inside, length) == (0, IDS)
        assert outside >= IDS
        assert outside % IDS == 0
        assert id_map(truth, name, "gid") == maps[name]
        assert truth.run(truth.running(name), "id", "-u") == "0\n"
        assert owner_on_host(host_pid(newer_containerd, truth, name)) == outside, "root in there is nobody out here"
        record = json.loads((agent.pod_directory(agent.pod(name).metadata.uid) / "userns").read_text())
        assert record["uidMappings"] == record["gidMappings"] == [{"hostId": outside, "containerId": 0, "length": IDS}]
    assert maps["first"] != maps["second"]
    assert owner_on_host(host_pid(newer_containerd, truth, "usual")) == 0

    main, as_user = truth.running("first"), truth.running("first", "user")
    assert truth.run(main, "cat", "/down/name").startswith("first-")
    truth.run(main, "touch", "/own/root")
    truth.run(as_user, "touch", "/own/user")
    assert truth.run(main, "stat", "-c", "%u %g", "/own/root", "/own/user") == "0 2000\n1000 2000\n"
    uid = agent.pod("first").metadata.uid
    (kept,) = agent.pod_directory(uid).glob("volumes/*/own/user")
    assert (kept.stat().st_uid, kept.stat().st_gid) == (1000, 2000), "files belong to whom they say, without an offset"

    assert truth.run(main, "sh", "-c", "cat /proc/keys | wc -c").strip() == "0"
    unmasked = truth.running("first", "bare")
    assert truth.run(unmasked, "sh", "-c", "cat /proc/keys | wc -c").strip() != "0"
    assert " /proc/" not in truth.run(unmasked, "cat", "/proc/mounts"), "nothing lies over /proc"
    assert " /proc/sys " in truth.run(main, "cat", "/proc/mounts")

    lives = [life.key for life in truth.lives()]
    agent.kill()
    manifest.unlink()
    agent.drop("third.json", pod("third", hostUsers=False))
    agent.start()
    agent.await_running("second", "usual", "third")
    assert id_map(truth, "third")[1] != maps["second"][1], "what ran before this agent keeps its ids"
    assert truth.life("second").key in lives
    agent.await_that(lambda: not agent.pod_directory(uid).exists(), "the pod's directory stays")


# (spec 17.4.5)
def test_17_4_groups_of_the_image_are_merged_or_left_out(newer_agent: Agent, newer_truth: Truth) -> None:
    """In the images of these tests /etc/group puts user 1000 into group 2000."""
    agent, truth = newer_agent, newer_truth
    whole = {"runAsUser": 1000, "runAsGroup": 3000, "supplementalGroups": [4000], "fsGroup": 5000}
    for policy in ("Merge", "Strict"):
        context = {**whole, "supplementalGroupsPolicy": policy}
        agent.drop(f"{policy}.json", pod(policy.lower(), securityContext=context))
    agent.start()
    agent.await_running("merge", "strict")
    groups = {
        name: sorted(map(int, truth.run(truth.running(name), "id", "-G").split())) for name in ("merge", "strict")
    }
    assert groups == {"merge": [2000, 3000, 4000, 5000], "strict": [3000, 4000, 5000]}
    for name, expected in groups.items():
        status = agent.container(name)
        assert status is not None
        assert status.user is not None
        assert status.user.linux is not None
        assert (status.user.linux.uid, status.user.linux.gid) == (1000, 3000)
        assert sorted(status.user.linux.supplemental_groups) == expected
