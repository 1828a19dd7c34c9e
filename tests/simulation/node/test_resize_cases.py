"""The cases of upstream's e2e tests of resizes, as tables.

Each pod is patched, and patched back.

They are in `test/e2e/common/node` of kubernetes: `pod_resize.go` and `pod_level_resources_resize.go`. The pods of a
table are on one node at the same time. What the API server refuses is in `tests/simulation/apiserver`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from actors.start.resources import MINIMUM_QUOTA_US, MINIMUM_SHARES
from config.pods.identity import QosClass
from config.values.quantity import parse_quantity
from runtime.cri.messages import ContainerState, LinuxContainerResources
from simulation.apiserver.requests.answers import ObjectAnswer
from simulation.apiserver.requests.bodies import STRATEGIC
from simulation.apiserver.requests.calls import ApiRequest
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_resize import MEMORY, MINUTE, cgroup, cluster, conditions, messages
from tests.simulation.node.worlds import SECOND, container

CPU, MORE_CPU = "20m", "25m"
CPU_LIMIT, MORE_CPU_LIMIT = "30m", "35m"
MEM, LESS_MEM, MORE_MEM = "35Mi", "30Mi", "40Mi"
MEM_LIMIT, LESS_MEM_LIMIT, MORE_MEM_LIMIT = "45Mi", "40Mi", "50Mi"

UID = "io.kubernetes.pod.uid"
Resources = dict[str, dict[str, str]]
KEEPS, RESTARTS = "NotRequired", "RestartContainer"


def amounts(cpu: str = "", cpu_limit: str = "", mem: str = "", mem_limit: str = "") -> Resources:
    """Resources in the order of upstream's tables; what is empty is left out."""
    requests = {name: text for name, text in (("cpu", cpu), ("memory", mem)) if text}
    limits = {name: text for name, text in (("cpu", cpu_limit), ("memory", mem_limit)) if text}
    return {kind: each for kind, each in (("requests", requests), ("limits", limits)) if each}


def equal(cpu: str = "", mem: str = "") -> Resources:
    return amounts(cpu, cpu, mem, mem)


class Case(NamedTuple):
    """`before` and `after`: by container. The name of a sidecar begins with `side`."""

    what: str
    before: dict[str, Resources]
    after: dict[str, Resources]
    cpu: str = ""
    memory: str = ""
    """The policies of all containers; empty: none is written."""
    whole: tuple[Resources, Resources] = ({}, {})
    """Resources of the pod, before and after."""
    back: bool = True
    """An amount that came in cannot be taken away again."""


# --- the tables -------------------------------------------------------------------------------------------------------

POLICIES = ((KEEPS, KEEPS), (KEEPS, RESTARTS), (RESTARTS, KEEPS), (RESTARTS, RESTARTS))
GUARANTEED = {
    "cpu": equal(MORE_CPU, MEM),
    "memory": equal(CPU, MORE_MEM),
    "both-more": equal(MORE_CPU, MORE_MEM),
    "more-cpu-less-memory": equal(MORE_CPU, LESS_MEM),
}
BURSTABLE = {
    "cpu-request": amounts(MORE_CPU, CPU_LIMIT, MEM, MEM_LIMIT),
    "cpu-limit": amounts(CPU, MORE_CPU_LIMIT, MEM, MEM_LIMIT),
    "memory-request": amounts(CPU, CPU_LIMIT, MORE_MEM, MEM_LIMIT),
    "memory-limit": amounts(CPU, CPU_LIMIT, MEM, MORE_MEM_LIMIT),
    "all-more": amounts(MORE_CPU, MORE_CPU_LIMIT, MORE_MEM, MORE_MEM_LIMIT),
    "more-cpu-less-memory": amounts(MORE_CPU, MORE_CPU_LIMIT, LESS_MEM, LESS_MEM_LIMIT),
    "requests-against-limits": amounts("15m", MORE_CPU_LIMIT, MORE_MEM, LESS_MEM_LIMIT),
}
STARTS_WITH = amounts(CPU, CPU_LIMIT, MEM, MEM_LIMIT)
WIDE = amounts("80m", "90m", "95Mi", "105Mi")
WHOLE = {
    "cpu-request": amounts("85m", "90m", "95Mi", "105Mi"),
    "cpu-limit": amounts("80m", "95m", "95Mi", "105Mi"),
    "memory-request": amounts("80m", "90m", "100Mi", "105Mi"),
    "memory-limit": amounts("80m", "90m", "95Mi", "110Mi"),
    "all-more": amounts("85m", "95m", "100Mi", "110Mi"),
    "more-cpu-less-memory": amounts("85m", "95m", "90Mi", "100Mi"),
    "requests-against-limits": amounts("75m", "95m", "100Mi", "100Mi"),
}


def guaranteed() -> Iterator[Case]:
    for number, (cpu, memory) in enumerate(POLICIES):
        for what, after in GUARANTEED.items():
            before = {"c1": equal(CPU, MEM), "side": equal(CPU, MEM)}
            yield Case(f"{what}-{number}", before, {**before, "c1": after}, cpu, memory)
            if cpu == memory:
                yield Case(f"{what}-{number}-sidecar", before, {"c1": after, "side": after}, cpu, memory)


def burstable() -> Iterator[Case]:
    for number, (cpu, memory) in enumerate(POLICIES):
        for what, after in BURSTABLE.items():
            yield Case(f"{what}-{number}", {"c1": STARTS_WITH}, {"c1": after}, cpu, memory)


def several() -> Iterator[Case]:
    three = {"c1": equal("20m", "35Mi"), "c2": equal("22m", "37Mi"), "c3": equal("24m", "39Mi")}
    grows = {"c1": equal("25m", "40Mi"), "c2": equal("27m", "42Mi"), "c3": equal("19m", "34Mi")}
    shrinks = {"c1": equal("25m", "40Mi"), "c2": equal("17m", "32Mi"), "c3": equal("19m", "34Mi")}
    mixed = {"c1": equal("25m", "35Mi"), "c2": equal("17m", "42Mi"), "c3": equal("29m", "44Mi")}
    yield Case("three-net-more", three, grows)
    yield Case("three-net-less", three, shrinks)
    yield Case("three-mixed", three, mixed)
    five = {"c1": amounts(CPU), "c2": amounts(mem=MEM), "c3": amounts(CPU, mem=MEM), "c4": amounts(CPU)}
    five["c5"] = amounts(mem=MEM)
    wanted = {"c1": amounts(MORE_CPU, MORE_CPU_LIMIT), "c2": amounts(mem=LESS_MEM, mem_limit=MORE_MEM_LIMIT)}
    wanted |= {"c3": amounts(CPU, mem=LESS_MEM), "c4": amounts("15m", mem=MEM), "c5": amounts(CPU, mem=MORE_MEM)}
    yield Case("five-that-get-what-they-had-not", five, wanted, back=False)
    yield Case("the-same-for-the-kernel", {"c1": amounts("2m", "10m")}, {"c1": amounts("1m", "5m")})


def wholes() -> Iterator[Case]:
    strict = {"c1": equal(CPU, MEM), "side": equal(CPU, MEM)}
    narrow = equal("80m", "95Mi")
    wider = {"cpu": equal("85m", "95Mi"), "memory": equal("80m", "110Mi"), "both-more": equal("85m", "100Mi")}
    for what, more in {**wider, "more-cpu-less-memory": equal("85m", "90Mi")}.items():
        yield Case(f"guaranteed-{what}", strict, strict, whole=(narrow, more))
    bare: dict[str, Resources] = {"c1": {}, "side": {}}
    for number, (cpu, memory) in enumerate(POLICIES):
        for what in ("cpu", "memory"):
            yield Case(f"only-the-pod-{what}-{number}", bare, bare, cpu, memory, (narrow, wider[what]))
        for what, after in WHOLE.items():
            one = {"c1": STARTS_WITH}
            yield Case(f"burstable-{what}-{number}", one, one, cpu, memory, (WIDE, after))
    small = {"c1": amounts("2m", "10m")}
    yield Case("the-same-for-the-kernel", small, small, whole=(amounts("4m", "20m"), amounts("5m", "25m")))
    yield Case("another-limit", small, small, whole=(amounts("4m", "10m"), amounts("5m", "25m")), back=False)
    yield Case("the-first-of-the-pod", small, small, whole=({}, amounts("5m", "25m")), back=False)
    requests = (amounts("4m", mem="10m"), amounts("5m", mem="25m"))
    yield Case("only-requests-of-the-pod", {"c1": {}}, {"c1": {}}, whole=requests, back=False)


# --- what a person does -----------------------------------------------------------------------------------------------


def made(world: Cluster, case: Case) -> None:
    policies = [
        {"resourceName": name, "restartPolicy": policy}
        for name, policy in (("cpu", case.cpu), ("memory", case.memory))
        if policy
    ]
    groups: dict[str, list[Any]] = {"containers": [], "initContainers": []}
    for name, resources in case.before.items():
        body = container(name, resources=resources, resizePolicy=policies)
        if name.startswith("side"):
            groups["initContainers"].append({**body, "restartPolicy": "Always"})
        else:
            groups["containers"].append(body)
    whole = {"resources": case.whole[0]} if case.whole[0] else {}
    world.create(case.what, annotations={MEMORY: "1Mi"}, **{k: v for k, v in groups.items() if v}, **whole)


def patched(world: Cluster, name: str, wanted: dict[str, Resources], whole: Resources) -> None:
    """As `kubectl patch --subresource resize` does it."""
    spec: dict[str, Any] = {"resources": whole} if whole else {}
    for each, resources in wanted.items():
        group = "initContainers" if each.startswith(("side", "first")) else "containers"
        spec.setdefault(group, []).append({"name": each, "resources": resources})
    path = f"/api/v1/namespaces/default/pods/{name}/resize"
    body = json.dumps({"spec": spec}).encode()
    answer = world.server.handle(ApiRequest("PATCH", path, (), body, STRATEGIC))
    assert isinstance(answer, ObjectAnswer), answer


# --- what has to hold -------------------------------------------------------------------------------------------------


def amount(resources: Resources, kind: str, name: str) -> int:
    """In thousandths of a CPU, or in bytes; 0: none."""
    text = resources.get(kind, {}).get(name)
    if text is None:
        return 0
    nanos = parse_quantity(text).nanos
    return -(-nanos // 10**6) if name == "cpu" else -(-nanos // 10**9)


def bounds(resources: Resources, whole: Resources) -> tuple[int, int, int]:
    """Shares, quota and memory limit of a container that asks for this, in a pod that asks for `whole`."""
    limit = amount(resources, "limits", "cpu") or amount(whole, "limits", "cpu")
    request = amount(resources, "requests", "cpu") or limit
    quota = max(MINIMUM_QUOTA_US, limit * 100) if limit else 0
    memory = amount(resources, "limits", "memory") or amount(whole, "limits", "memory")
    return max(MINIMUM_SHARES, request * 1024 // 1000), quota, memory


def in_the_kernel(resources: LinuxContainerResources | None) -> tuple[int, int, int]:
    assert resources is not None
    return resources.cpu_shares, resources.cpu_quota, resources.memory_limit_in_bytes


def restarts_at(case: Case, name: str) -> int:
    """Whether one change of the case restarts that container: 0 or 1."""
    both = tuple(zip((case.before[name], case.after[name]), case.whole, strict=True))

    def changes(resource: str) -> bool:
        """Its request changes or its limit, which is that of the pod if it has none of its own."""
        requests = {amount(own, "requests", resource) for own, _ in both}
        limits = {amount(own, "limits", resource) or amount(whole, "limits", resource) for own, whole in both}
        return len(requests) > 1 or len(limits) > 1

    return int((case.cpu == RESTARTS and changes("cpu")) or (case.memory == RESTARTS and changes("memory")))


def faults(
    world: Cluster, pod: dict[str, Any], case: Case, wanted: dict[str, Resources], whole: Resources, ways: int
) -> Iterator[str]:
    """What is not yet as it should be after so many changes of the case."""
    for condition in pod["status"]["conditions"]:
        if condition["type"].startswith("PodResize"):
            yield f"{case.what}: {condition}"
    status = pod["status"]
    shown = {each["name"]: each for each in (*status["containerStatuses"], *status.get("initContainerStatuses", ()))}
    running = {
        each.config.labels["io.kubernetes.container.name"]: each
        for each in world.node.cri.state.containers.values()
        if each.state is ContainerState.CONTAINER_RUNNING and each.config.labels[UID] == pod["metadata"]["uid"]
    }
    for name, resources in wanted.items():
        seen = shown[name]
        if (seen.get("resources") or {}) != resources:
            yield f"{case.what}/{name}: shows {seen.get('resources')} for {resources}"
        if (seen.get("allocatedResources") or {}) != resources.get("requests", {}):
            yield f"{case.what}/{name}: is given {seen.get('allocatedResources')} for {resources}"
        if seen["restartCount"] != ways * restarts_at(case, name):
            yield f"{case.what}/{name}: {seen['restartCount']} restarts after {ways} ways"
        if name not in running or in_the_kernel(running[name].resources) != bounds(resources, whole):
            yield f"{case.what}/{name}: the kernel does not have {bounds(resources, whole)}"
    limits = cgroup(world, pod, QosClass(status["qosClass"]))
    for kind, limit in (("cpu", limits.cpu_quota_us), ("memory", limits.memory_bytes)):
        own = [amount(each, "limits", kind) for each in wanted.values()]
        most = amount(whole, "limits", kind) or (sum(own) if all(own) else 0)
        expected = -1 if not most else max(MINIMUM_QUOTA_US, most * 100) if kind == "cpu" else most
        if limit != expected:
            yield f"{case.what}: the {kind} of its cgroup is {limit}, not {expected}"


def await_all(world: Cluster, cases: list[Case], ways: int) -> None:
    """Wait until every case is as expected after so many changes, and stays so."""

    def missing() -> list[str]:
        found, pods = list[str](), world.pods()
        for case in cases:
            wanted, whole = (case.after, case.whole[1]) if ways % 2 else (case.before, case.whole[0])
            found += faults(world, pods[case.what], case, wanted, whole, ways)
        return found

    for _ in range(12):
        world.run(5 * SECOND)
        if not missing():
            break
    world.run(15 * SECOND)
    assert missing() == []


def play(cases: list[Case]) -> Cluster:
    world = cluster()
    for case in cases:
        made(world, case)
    world.until(lambda: world.all_are("Running", len(cases)), 5 * MINUTE)
    await_all(world, cases, 0)
    assert messages(world, "ResizeCompleted") == []
    for case in cases:
        patched(world, case.what, case.after, case.whole[1])
    await_all(world, cases, 1)
    for case in (returning := [case for case in cases if case.back]):
        patched(world, case.what, case.before, case.whole[0])
    await_all(world, returning, 2)
    assert messages(world, "ResizeError") == []
    return world


def test_guaranteed_pods_and_their_sidecars() -> None:
    play(list(guaranteed()))


def test_burstable_pods() -> None:
    play(list(burstable()))


def test_pods_of_several_containers() -> None:
    play(list(several()))


# (spec 10.16.8)
def test_pods_with_resources_of_their_own() -> None:
    play(list(wholes()))


def test_the_memory_of_a_pod_is_not_taken_below_what_its_container_uses() -> None:
    world = cluster()
    first, less, least = (amounts(mem=text, mem_limit=text) for text in (MEM, LESS_MEM, "10Ki"))
    world.create("web", annotations={MEMORY: "20Mi"}, containers=[container()], resources=first)
    world.until(lambda: world.all_are("Running", 1))
    pod = world.pods()["web"]

    def has(whole: Resources) -> bool:
        return not conditions(world) and cgroup(world, pod).memory_bytes == amount(whole, "limits", "memory")

    patched(world, "web", {}, less)
    world.until(lambda: has(less))
    patched(world, "web", {}, least)
    world.until(lambda: conditions(world).get("PodResizeInProgress", {}).get("reason") == "Error")
    assert "memory limit (10240) below current usage" in conditions(world)["PodResizeInProgress"]["message"]
    assert cgroup(world, pod).memory_bytes == amount(less, "limits", "memory")
    patched(world, "web", {}, first)
    world.until(lambda: has(first))
    (record,) = world.node.containers()
    assert in_the_kernel(record.resources) == bounds({}, first)


# (spec 10.16.8)
def test_an_init_container_that_runs_is_resized_and_back() -> None:
    world = cluster()
    small, big = equal(CPU, MEM), equal(MORE_CPU, MORE_MEM)
    init, main = container("first", resources=small), container("main", resources=small)
    world.create("web", annotations={MEMORY: "1Mi"}, initContainers=[init], containers=[main])

    def has(resources: Resources) -> bool:
        shown = world.pods()["web"]["status"].get("initContainerStatuses")
        same = bool(shown) and (shown[0].get("resources"), shown[0]["restartCount"]) == (resources, 0)
        return same and not conditions(world)

    world.until(partial(has, small))
    (record,) = world.node.containers()
    for wanted in (big, small):
        patched(world, "web", {"first": wanted}, {})
        world.until(partial(has, wanted))
        assert in_the_kernel(record.resources) == bounds(wanted, {})
