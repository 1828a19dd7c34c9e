"""A whole node whose pods ask for other resources while they run (spec 10.16), in virtual time."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from config.kubelet import KubeletConfiguration
from config.pods.identity import QosClass
from runtime.cgroups.names import pod_words, root_words
from simulation.chance.call_faults import CallFaults, FaultPlan, Faults
from simulation.cri.behaviour import PREFIX
from simulation.cri.hung_calls import HungCalls
from simulation.host.facts import MAX_PODS
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, SECOND, container

MINUTE = 60 * SECOND
MEMORY = "simulated.actorlet.dev/memory"
USES, IN_ALL = "100Mi", 125 * 2**20
"""The working set of a container, and what it uses with its caches."""
RESTARTS = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
SMALL = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}}
BIG = {"requests": {"cpu": "500m", "memory": "128Mi"}, "limits": {"cpu": "2", "memory": "128Mi"}}
CONFIGURATION = KubeletConfiguration(max_pods=MAX_PODS, enforce_node_allocatable=())


def cluster(**options: Any) -> Cluster:
    options.setdefault("configuration", CONFIGURATION)
    return Cluster(**options)


def running(world: Cluster, name: str = "web", **fields: Any) -> dict[str, Any]:
    """A pod of one container that runs."""
    annotations = fields.pop("annotations", {})
    more = fields.pop("spec", {})
    fields.setdefault("resources", SMALL)
    world.create(name, containers=[container(**fields)], annotations=annotations, **more)
    world.until(lambda: world.phases().get(name) == "Running")
    return world.pods()[name]


def resize(world: Cluster, resources: dict[str, Any], name: str = "web", group: str = "containers") -> None:
    pod = world.pods()[name]
    pod["spec"][group][0]["resources"] = resources
    world.ask("PUT", f"/api/v1/namespaces/default/pods/{name}/resize", pod)


def whole(world: Cluster, resources: dict[str, Any], name: str = "web") -> None:
    """Resize the pod, not a container."""
    pod = world.pods()[name]
    pod["spec"]["resources"] = resources
    world.ask("PUT", f"/api/v1/namespaces/default/pods/{name}/resize", pod)


def conditions(world: Cluster, name: str = "web") -> dict[str, dict[str, Any]]:
    found = world.pods()[name]["status"]["conditions"]
    return {each["type"]: each for each in found if each["type"].startswith("PodResize")}


def shown(world: Cluster, name: str = "web") -> dict[str, Any]:
    return dict(world.pods()[name]["status"]["containerStatuses"][0])


def has_all(world: Cluster, resources: dict[str, Any], name: str = "web") -> bool:
    status = shown(world, name)
    return (status["resources"], status["allocatedResources"]) == (resources, resources["requests"])


def shows(world: Cluster, resources: dict[str, Any]) -> bool:
    return bool(shown(world)["resources"] == resources)


def resized_to(world: Cluster, resources: dict[str, Any], name: str = "web") -> bool:
    return has_all(world, resources, name) and not conditions(world, name)


def messages(world: Cluster, reason: str) -> list[str]:
    events = world.ask("GET", "/api/v1/events")["items"]
    return [each["message"] for each in events if each["reason"] == reason]


def cgroup(world: Cluster, pod: dict[str, Any], qos: QosClass = QosClass.BURSTABLE) -> Any:
    return world.node.cgroups.written[pod_words(root_words("/"), qos, pod["metadata"]["uid"])]


# (spec 2.4.2)
def test_a_container_gets_more_and_less_while_it_runs() -> None:
    world = cluster()
    pod = running(world)
    (record,) = world.node.containers()
    for resources, (shares, quota, memory) in ((BIG, (512, 200_000, 2**27)), (SMALL, (102, 100_000, 2**26))):
        resize(world, resources)
        world.until(partial(resized_to, world, resources))
        now = world.node.cri.state.containers[record.id].resources
        assert now is not None
        assert (now.cpu_shares, now.cpu_quota, now.memory_limit_in_bytes) == (shares, quota, memory)
        limits = cgroup(world, pod)
        assert (limits.cpu_shares, limits.cpu_quota_us, limits.memory_bytes) == (shares, quota, memory)
    assert shown(world)["restartCount"] == 0
    world.until(lambda: len(messages(world, "ResizeCompleted")) == 2)
    assert messages(world, "ResizeStarted")[0] == (
        'Pod resize started: {"containers":[{"name":"app","resources":{"limits":{"cpu":"2","memory":"128Mi"},'
        '"requests":{"cpu":"500m","memory":"128Mi"}}}],"generation":2}'
    )


# (spec 4.6.1)
def test_a_resize_under_way_and_its_end_are_shown_at_once() -> None:
    slow = CallFaults(slow=1, delay_ns=(SECOND // 5, SECOND // 5))
    world = cluster(faults=Faults(FaultPlan(calls={"UpdateContainerResources": slow}), 1))
    running(world)
    world.run(5 * SECOND)
    resize(world, BIG)
    world.until(lambda: "PodResizeInProgress" in conditions(world), SECOND // 10, MS)
    world.until(lambda: resized_to(world, BIG), SECOND // 2, MS)


def test_a_pod_that_is_being_deleted_is_given_its_resize_and_nothing_of_it_changes() -> None:
    world = cluster()
    behaviour = {f"{PREFIX}ignore-stop-signal": "true"}
    running(world, annotations=behaviour, spec={"terminationGracePeriodSeconds": 30})
    (record,) = world.node.containers()
    world.delete("web", 30)
    world.run(5 * SECOND)
    resize(world, BIG)
    world.until(lambda: bool(messages(world, "ResizeStarted")), 10 * SECOND)
    assert shown(world)["allocatedResources"] == BIG["requests"]
    now = world.node.cri.state.containers[record.id].resources
    assert now is None or now.memory_limit_in_bytes == 2**26
    world.until(lambda: not world.pods(), 60 * SECOND)
    assert not messages(world, "ResizeCompleted")


# (spec 10.16.6)
def test_a_container_restarts_where_its_policy_says_so_and_only_for_that_resource() -> None:
    world = cluster()
    running(world, resizePolicy=RESTARTS)
    more_cpu = {"requests": {**SMALL["requests"], "cpu": "200m"}, "limits": SMALL["limits"]}
    resize(world, more_cpu)
    world.until(lambda: resized_to(world, more_cpu))
    assert shown(world)["restartCount"] == 0
    resize(world, BIG)
    world.until(lambda: resized_to(world, BIG))
    assert shown(world)["restartCount"] == 1
    assert "Container app resize requires restart" in messages(world, "Killing")


def test_a_sidecar_restarts_for_its_new_memory() -> None:
    world = cluster()
    side = container("side", resources=SMALL, restartPolicy="Always", resizePolicy=RESTARTS)
    world.create("web", initContainers=[side], containers=[container(resources=SMALL)])
    world.until(lambda: world.all_are("Running", 1))
    resize(world, BIG, group="initContainers")
    world.until(lambda: len(messages(world, "ResizeCompleted")) == 1)
    status = world.pods()["web"]["status"]
    assert [each["restartCount"] for each in status["initContainerStatuses"]] == [1]
    assert [each["restartCount"] for each in status["containerStatuses"]] == [0]
    assert "Container side resize requires restart" in messages(world, "Killing")


def test_a_container_that_does_not_run_shows_what_it_is_given() -> None:
    """It has that from its next start on, if there is one."""
    world = cluster()
    both = [container(name, resources=SMALL) for name in ("done", "goes-on")]
    ends = {"simulated.actorlet.dev/run-for.done": "1s"}
    world.create("web", containers=both, annotations=ends, restartPolicy="Never")
    world.until(lambda: world.all_are("Running", 1) and "terminated" in shown(world)["state"])
    resize(world, BIG)
    world.until(lambda: resized_to(world, BIG))
    assert "terminated" in shown(world)["state"]


# (spec 2.4.3, 10.16.2)
def test_a_resize_that_does_not_fit_waits_until_others_end() -> None:
    world = cluster()
    half = {"requests": {"cpu": "1500m"}}
    running(world, "other", resources=half)
    running(world, resources=half)
    most = {"requests": {"cpu": "3"}}
    resize(world, most)
    world.until(lambda: "PodResizePending" in conditions(world))
    pending = conditions(world)["PodResizePending"]
    assert (pending["status"], pending["reason"], pending["observedGeneration"]) == ("True", "Deferred", 2)
    assert pending["message"].startswith("Node didn't have enough resource: cpu, requested: 3000, used: 1500, ")
    assert has_all(world, half)
    assert messages(world, "ResizeDeferred")[0].startswith("Pod resize OutOfcpu: {")
    assert pending["lastProbeTime"] == pending["lastTransitionTime"]
    running(world, "third", resources={"requests": {"cpu": "100m"}})
    world.until(lambda: "used: 1600, " in conditions(world)["PodResizePending"]["message"], 5 * MINUTE)
    assert len(messages(world, "ResizeDeferred")) == 1, "it has been said"
    world.delete("other", 0)
    world.until(lambda: resized_to(world, most), 2 * MINUTE)


# (spec 4.6.1)
def test_a_resize_that_waits_is_taken_back() -> None:
    world = cluster()
    running(world)
    resize(world, {"requests": {"cpu": "100"}, "limits": {"cpu": "200", "memory": "64Mi"}})
    world.until(lambda: "PodResizePending" in conditions(world))
    resize(world, SMALL)
    world.until(lambda: not conditions(world))
    assert has_all(world, SMALL)
    assert messages(world, "ResizeStarted") == []


# (spec 10.16.5)
def test_memory_is_not_taken_below_what_is_in_use() -> None:
    world = cluster()
    pod = running(world, resources=BIG, annotations={MEMORY: USES})
    resize(world, SMALL)
    world.until(lambda: conditions(world).get("PodResizeInProgress", {}).get("reason") == "Error")
    assert conditions(world)["PodResizeInProgress"]["message"] == (
        f"cannot decrease memory limits: [attempting to set pod memory limit ({2**26}) below current usage ({IN_ALL}), "
        f'attempting to set container "app" memory limit ({2**26}) below current usage ({IN_ALL})]'
    )
    assert len(messages(world, "ResizeError")) == 1
    assert shown(world)["resources"] == BIG
    assert (cgroup(world, pod).memory_bytes, cgroup(world, pod).cpu_quota_us) == (2**27, 200_000)
    enough = {"requests": BIG["requests"], "limits": {"cpu": "2", "memory": "256Mi"}}
    resize(world, enough)
    world.until(lambda: resized_to(world, enough))


def test_the_memory_of_a_pod_is_not_taken_below_what_all_containers_use() -> None:
    """Each container has a limit of its own, which stays."""
    world = cluster()
    less, most = full("100m", "200Mi"), full("100m", "300Mi")
    own = {"requests": {"memory": "64Mi"}, "limits": {"memory": "190Mi"}}
    both = [container(name, resources=own) for name in ("a", "b")]
    world.create("web", containers=both, annotations={MEMORY: USES}, resources=most)
    world.until(lambda: world.all_are("Running", 1))
    pod = world.pods()["web"]
    whole(world, less)
    world.until(lambda: conditions(world).get("PodResizeInProgress", {}).get("reason") == "Error")
    assert conditions(world)["PodResizeInProgress"]["message"] == (
        "cannot decrease memory limits: "
        f"attempting to set pod memory limit ({200 * 2**20}) below current usage ({2 * IN_ALL})"
    )
    assert cgroup(world, pod, QosClass.GUARANTEED).memory_bytes == 300 * 2**20
    whole(world, full("100m", "260Mi"))
    world.until(lambda: not conditions(world))
    assert cgroup(world, pod, QosClass.GUARANTEED).memory_bytes == 260 * 2**20


# (spec 10.16.4)
def test_a_container_that_restarts_frees_its_memory_before_the_pod_gets_less() -> None:
    world = cluster()
    pod = running(world, resources=BIG, annotations={MEMORY: "16Mi, 5s=102Mi"}, resizePolicy=RESTARTS)
    world.run(10 * SECOND)
    resize(world, SMALL)
    world.until(lambda: resized_to(world, SMALL))
    assert (shown(world)["restartCount"], cgroup(world, pod).memory_bytes) == (1, 2**26)
    assert messages(world, "ResizeError") == []


@pytest.mark.parametrize(("refused_s", "errors"), [(3, 0), (30, 1)])
def test_bounds_that_the_kernel_refuses_after_a_restart_are_an_error_only_if_it_goes_on(
    refused_s: int, errors: int
) -> None:
    """With cgroup v1 the limit of the container that has ended counts for a while."""
    world = cluster()
    stops_late = {"simulated.actorlet.dev/stop-delay": "2s"}
    pod = running(world, resources=BIG, resizePolicy=RESTARTS, annotations=stops_late)
    resize(world, SMALL)
    world.run(SECOND)
    assert cgroup(world, pod).cpu_quota_us == 200_000
    world.node.cgroups.broken = "Invalid argument"
    world.run((1 + refused_s) * SECOND)
    assert len(messages(world, "ResizeError")) == errors
    world.node.cgroups.broken = ""
    world.until(lambda: resized_to(world, SMALL))
    assert (shown(world)["restartCount"], cgroup(world, pod).cpu_quota_us) == (1, 100_000)
    world.until(lambda: len(messages(world, "ResizeCompleted")) == 1)
    assert len(messages(world, "ResizeError")) == errors


def sandbox_has(world: Cluster) -> tuple[int, int, int]:
    """The weight, CPU quota and memory limit that the runtime was told of the whole pod."""
    (record,) = world.node.cri.state.sandboxes.values()
    assert record.config.linux is not None
    told = record.config.linux.resources
    assert told is not None
    assert record.config.linux.overhead is not None
    return told.cpu_shares, told.cpu_quota, told.memory_limit_in_bytes


def test_the_runtime_is_told_what_the_whole_pod_has() -> None:
    world = cluster()
    running(world)
    assert sandbox_has(world) == (102, 100_000, 2**26)
    for resources, expected in ((BIG, (512, 200_000, 2**27)), (SMALL, (102, 100_000, 2**26))):
        resize(world, resources)
        world.until(partial(resized_to, world, resources))
        assert sandbox_has(world) == expected


@pytest.mark.parametrize("code", ["UNIMPLEMENTED", "PERMISSION_DENIED*2"])
def test_a_runtime_may_refuse_what_the_whole_pod_is_to_have_but_need_not_know_the_call(code: str) -> None:
    world = cluster()
    pod = running(world, annotations={"simulated.actorlet.dev/fail": f"UpdatePodSandboxResources={code}"})
    resize(world, BIG)
    if code != "UNIMPLEMENTED":
        world.until(lambda: conditions(world).get("PodResizeInProgress", {}).get("reason") == "Error")
        said = conditions(world)["PodResizeInProgress"]["message"]
        assert said.startswith(
            "failed to notify runtime for UpdatePodSandboxResources (resource=memory); resize rejected"
        )
        assert "updatePodSandboxResources failed for sanboxID" in said, "as a kubelet spells it"
        assert "rpc error: code = PermissionDenied" in said
        assert cgroup(world, pod).memory_bytes == 2**26
    world.until(lambda: resized_to(world, BIG))
    assert cgroup(world, pod).memory_bytes == 2**27


@pytest.mark.parametrize("after_ms", [0, 2, 5, 10, 20, 40, 80, 200, 1000])
def test_an_agent_that_dies_during_a_resize_ends_it_in_its_next_life(after_ms: int) -> None:
    world = cluster()
    pod = running(world)
    resize(world, BIG)
    world.run(after_ms * SECOND // 1000)
    world.node.kill()
    world.run(SECOND)
    world.node.restart_agent()
    world.until(lambda: resized_to(world, BIG), 2 * MINUTE)
    assert shown(world)["restartCount"] == 0
    assert cgroup(world, pod).memory_bytes == 2**27


def test_an_agent_that_dies_when_a_resize_was_taken_back_gives_what_was_asked_last() -> None:
    world = cluster()
    running(world, resources=BIG)
    (record,) = world.node.containers()
    hung = HungCalls(world.node.cri)
    hung.hang("UpdatePodSandboxResources", times=1)
    resize(world, SMALL)
    world.until(lambda: hung.hung["UpdatePodSandboxResources"] > 0)  # the container is small, and nobody noted it
    hung.hang("UpdateContainerResources")
    resize(world, BIG)
    world.until(lambda: hung.hung["UpdateContainerResources"] > 0, 10 * MINUTE)
    world.node.kill()
    hung.heal()
    world.run(SECOND)
    world.node.restart_agent()
    world.until(lambda: resized_to(world, BIG), 2 * MINUTE)
    now = world.node.cri.state.containers[record.id].resources
    assert now is not None
    assert now.memory_limit_in_bytes == 2**27


def test_an_agent_that_begins_finds_what_was_given_and_what_waits() -> None:
    world = cluster()
    running(world)
    resize(world, BIG)
    world.until(lambda: resized_to(world, BIG))
    world.run(5 * SECOND)
    resize(world, {"requests": {"cpu": "100"}, "limits": {"cpu": "200", "memory": "128Mi"}})
    world.until(lambda: "PodResizePending" in conditions(world))
    since = conditions(world)["PodResizePending"]["lastTransitionTime"]
    world.node.kill()
    world.run(10 * SECOND)
    world.node.restart_agent()
    world.run(30 * SECOND)
    assert conditions(world)["PodResizePending"]["lastTransitionTime"] == since
    assert has_all(world, BIG)


def test_an_update_that_hangs_is_shown_and_holds_up_no_other_pod() -> None:
    world = cluster()
    hung = HungCalls(world.node.cri)
    running(world)
    hung.hang("UpdateContainerResources", pod="web")
    resize(world, BIG)
    world.until(lambda: "PodResizeInProgress" in conditions(world))
    assert world.until(lambda: hung.hung["UpdateContainerResources"] > 0) < 5 * SECOND
    running(world, "other")
    world.until(lambda: conditions(world)["PodResizeInProgress"].get("reason") == "Error", 10 * MINUTE)
    hung.heal()
    world.until(lambda: resized_to(world, BIG), 10 * MINUTE)


@pytest.mark.parametrize("fault", ["fail", "lie", "late"])
def test_a_runtime_that_refuses_lies_or_lags_is_told_again_until_it_has_them(fault: str) -> None:
    world = cluster()
    rule = {"fail": "UpdateContainerResources=UNAVAILABLE*2", "lie": "UpdateContainerResources*1"}
    rule["late"] = "UpdateContainerResources=30s"
    running(world, annotations={f"simulated.actorlet.dev/{fault}": rule[fault]})
    (record,) = world.node.containers()
    resize(world, BIG)
    world.until(lambda: resized_to(world, BIG), 10 * MINUTE)
    now = world.node.cri.state.containers[record.id].resources
    assert now is not None
    assert (now.cpu_shares, now.cpu_quota, now.memory_limit_in_bytes) == (512, 200_000, 2**27)
    assert shown(world)["restartCount"] == 0


def test_a_pod_whose_resize_waits_ends_as_any_other() -> None:
    world = cluster()
    running(world)
    resize(world, {"requests": {"cpu": "100"}, "limits": {"cpu": "200", "memory": "64Mi"}})
    world.until(lambda: "PodResizePending" in conditions(world))
    world.delete("web", 1)
    world.until(lambda: world.pods() == {}, MINUTE)


def full(cpu: str, memory: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return {"requests": amounts, "limits": amounts}


@pytest.mark.parametrize(
    "wanted",
    [
        (full("200m", "128Mi"), full("300m", "128Mi"), full("100m", "64Mi")),
        (full("50m", "32Mi"), full("100m", "64Mi"), full("50m", "16Mi")),
        (full("200m", "32Mi"), full("50m", "128Mi"), full("100m", "64Mi")),
    ],
)
def test_guaranteed_pods_of_several_containers_grow_and_shrink(wanted: tuple[dict[str, Any], ...]) -> None:
    world = cluster()
    names = ("a", "b", "c")
    containers = [container(name, resources=full("100m", "64Mi")) for name in names]
    world.create("web", containers=containers, annotations={MEMORY: "1Mi"})
    world.until(lambda: world.all_are("Running", 1))
    pod = world.pods()["web"]
    for one, resources in zip(pod["spec"]["containers"], wanted, strict=True):
        one["resources"] = resources
    world.ask("PUT", "/api/v1/namespaces/default/pods/web/resize", pod)
    world.until(lambda: len(messages(world, "ResizeCompleted")) == 1)
    world.run(2 * SECOND)
    status = world.pods()["web"]["status"]["containerStatuses"]
    assert [(each["resources"], each["restartCount"]) for each in status] == [(each, 0) for each in wanted]
    assert not conditions(world)
    memory = sum(int(each["limits"]["memory"].removesuffix("Mi")) for each in wanted)
    assert cgroup(world, pod, QosClass.GUARANTEED).memory_bytes == memory * 2**20


def test_a_container_shows_the_limit_that_it_has_from_its_pod_beside_its_own() -> None:
    world = cluster()
    own = {"requests": {"memory": "64Mi"}, "limits": {"memory": "64Mi"}}
    world.create("web", containers=[container(resources=own)], resources=full("200m", "128Mi"))
    world.until(lambda: world.all_are("Running", 1))
    for cpu in ("200m", "300m"):
        whole(world, full(cpu, "128Mi"))
        world.until(partial(shows, world, full(cpu, "64Mi")))
    assert shown(world)["allocatedResources"] == own["requests"]


def test_a_burstable_pod_changes_what_it_has_in_many_ways_at_once() -> None:
    world = cluster()
    containers = [container(f"c{number}", resources=SMALL) for number in range(6)]
    world.create("web", containers=containers, annotations={MEMORY: "1Mi"})
    world.until(lambda: world.all_are("Running", 1))
    pod = world.pods()["web"]
    wanted = [
        BIG,
        SMALL,
        {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}},
        {"requests": {"cpu": "100m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "32Mi"}},
        {"requests": {"cpu": "1", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}},
        {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "20m", "memory": "16Mi"}},
    ]
    for one, resources in zip(pod["spec"]["containers"], wanted, strict=True):
        one["resources"] = resources
    world.ask("PUT", "/api/v1/namespaces/default/pods/web/resize", pod)
    world.until(lambda: len(messages(world, "ResizeCompleted")) == 1)
    world.run(2 * SECOND)
    status = world.pods()["web"]["status"]["containerStatuses"]
    assert [(each["resources"], each["restartCount"]) for each in status] == [(each, 0) for each in wanted]


def test_amounts_that_are_the_same_for_the_kernel_are_shown_as_asked() -> None:
    world = cluster()
    running(world, resources={"requests": {"cpu": "2m"}, "limits": {"cpu": "10m"}})
    less = {"requests": {"cpu": "1m"}, "limits": {"cpu": "5m"}}
    resize(world, less)
    world.until(lambda: resized_to(world, less))
    world.until(lambda: len(messages(world, "ResizeCompleted")) == 1)


def test_an_ephemeral_container_is_left_alone() -> None:
    world = cluster()
    running(world)
    pod = world.pods()["web"]
    pod["spec"]["ephemeralContainers"] = [container("debug")]
    world.ask("PUT", "/api/v1/namespaces/default/pods/web/ephemeralcontainers", pod)
    world.until(lambda: len(world.node.containers()) == 2)
    debug = max(world.node.cri.state.containers.values(), key=lambda each: each.created_at)
    before = debug.resources
    resize(world, BIG)
    world.until(lambda: resized_to(world, BIG))
    assert debug.resources == before
