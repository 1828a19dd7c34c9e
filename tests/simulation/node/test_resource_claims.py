"""Claims of devices on a whole node: drivers come, go and fail, and the agent dies (spec 10.12)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec import structs

from actors.node.pod_resources import NodePodResources
from actors.resources.claims import book
from actors.resources.claims.life import ClaimLife, ClaimStage, Event, Left, PreparedBy, advance
from runtime.dra.capability import DeviceHealth, Health
from runtime.pod_resources.capability import ClaimedDevice, ClaimHoldings
from simulation.host.dra_drivers import PREPARE, SimulatedDraDriver
from tests.seeds import over_seeds
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import SECOND, container

DRIVER = "gpu.example.com"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


class Devices(Cluster):
    """A node with drivers; the test is the scheduler that allocates claims."""

    def allocate(self, name: str, *drivers: str, pods: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
        """A claim of that name, allocated to devices of these drivers and reserved for these pods."""
        drivers = drivers or (DRIVER,)
        requests = [
            {"name": f"r{n}", "exactly": {"deviceClassName": each, "allocationMode": "ExactCount", "count": 1}}
            for n, each in enumerate(drivers)
        ]
        document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}}
        claim = self.ask("POST", CLAIMS, {**document, "spec": {"devices": {"requests": requests}}})
        results = [
            {"request": f"r{n}", "driver": each, "pool": "node", "device": name} for n, each in enumerate(drivers)
        ]
        claim["status"] = {"allocation": {"devices": {"results": results}}, "reservedFor": [_user(pod) for pod in pods]}
        return dict(self.ask("PUT", f"{CLAIMS}/{name}/status", claim))

    def reserve(self, name: str, *pods: dict[str, Any]) -> None:
        claim = self.ask("GET", f"{CLAIMS}/{name}")
        claim["status"]["reservedFor"] = [_user(pod) for pod in pods]
        self.ask("PUT", f"{CLAIMS}/{name}/status", claim)

    def pod(self, name: str, *claims: str, **more: Any) -> dict[str, Any]:
        """A pod whose container has all of these claims."""
        one = container(resources={"claims": [{"name": each} for each in claims]})
        named = [{"name": each, "resourceClaimName": each} for each in claims]
        return self.create(name, containers=[one], resourceClaims=named, **more)

    def offer(self, name: str, node: str, driver: str = DRIVER) -> None:
        """A slice with one device, as a driver publishes it."""
        document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}}
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": [{"name": "gpu-0"}]}
        self.ask("POST", SLICES, {**document, "spec": spec})

    def offered(self) -> set[str]:
        """The names of all slices."""
        return {each["metadata"]["name"] for each in self.ask("GET", SLICES)["items"]}

    def cdi(self) -> list[str]:
        """The CDI devices of running containers."""
        return sorted(
            device.name
            for record in self.node.cri.state.containers.values()
            if record.state.name == "CONTAINER_RUNNING"
            for device in record.config.CDI_devices
        )

    def said(self, reason: str) -> list[str]:
        events = self.ask("GET", "/api/v1/events")["items"]
        return [each["message"] for each in events if each["reason"] == reason]

    def gone(self) -> bool:
        return not self.pods()


def _user(pod: dict[str, Any]) -> dict[str, Any]:
    return {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}


def _uid(cluster: Devices, claim: str) -> str:
    return str(cluster.ask("GET", f"{CLAIMS}/{claim}")["metadata"]["uid"])


# (spec 10.12.1, 10.12.2)
def test_two_pods_share_a_claim_that_is_unprepared_once_when_both_have_ended():
    cluster = Devices()
    driver = cluster.node.add_dra_driver(DRIVER)
    pods = [cluster.pod(name, "gpu") for name in ("a", "b")]
    cluster.allocate("gpu", pods=tuple(pods))
    cluster.until(lambda: cluster.all_are("Running", 2))
    uid = _uid(cluster, "gpu")
    for held in NodePodResources(cluster.node.node).pods(active=True) or ():
        ((_, has),) = held.containers
        device = ClaimedDevice(DRIVER, "pool", "gpu", (f"{DRIVER}/device={uid}",))
        assert has.claims == (ClaimHoldings("default", "gpu", (device,)),)
    assert cluster.cdi() == [f"{DRIVER}/device={uid}"] * 2
    cluster.delete("a")
    cluster.until(lambda: len(cluster.pods()) == 1)
    assert set(driver.prepared) == {uid}
    cluster.delete("b")
    cluster.until(cluster.gone)
    assert driver.prepared == {}
    assert [method for method, _ in driver.calls] == ["NodePrepareResources", "NodeUnprepareResources"]


def test_a_pod_that_starts_before_its_driver_waits_and_says_so():
    cluster = Devices()
    pod = cluster.pod("a", "gpu")
    cluster.allocate("gpu", pods=(pod,))
    cluster.run(30 * SECOND)
    assert cluster.phases() == {"a": "Pending"}
    words = f"Failed to prepare dynamic resources: prepare dynamic resources: DRA driver {DRIVER} is not registered"
    assert words in cluster.said("FailedPrepareDynamicResources")
    cluster.node.add_dra_driver(DRIVER)
    cluster.until(lambda: cluster.all_are("Running", 1), limit_ns=5 * SECOND)


# kubernetes/kubernetes#129402, #137122
def test_a_pod_whose_driver_is_away_ends_and_its_claim_is_unprepared_when_it_is_back():
    cluster = Devices()
    driver = cluster.node.add_dra_driver(DRIVER)
    pod = cluster.pod("a", "gpu")
    cluster.allocate("gpu", pods=(pod,))
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.node.stop_dra_driver(driver)
    cluster.delete("a")
    cluster.until(cluster.gone, limit_ns=10 * SECOND)
    assert len(driver.prepared) == 1
    cluster.node.start_dra_driver(driver)
    cluster.until(lambda: not driver.prepared, limit_ns=5 * SECOND)


def test_a_driver_that_hangs_costs_its_own_pods_and_no_other():
    cluster = Devices()
    hung, good = cluster.node.add_dra_driver("hung.example.com"), cluster.node.add_dra_driver(DRIVER)
    hung.hangs.add(PREPARE)
    for number in range(5):
        cluster.allocate(f"h{number}", hung.name, pods=(cluster.pod(f"h{number}", f"h{number}"),))
    cluster.allocate("gpu", pods=(cluster.pod("a", "gpu"),))
    cluster.until(lambda: cluster.phases()["a"] == "Running", limit_ns=5 * SECOND)
    assert len(good.prepared) == 1
    for number in range(5):
        cluster.delete(f"h{number}")
    cluster.run(130 * SECOND)
    assert set(cluster.pods()) == {"a"}, "no pod stays for a driver that hangs"


# kubernetes/kubernetes#141433
def test_a_claim_is_prepared_anew_for_the_sandbox_after_a_reboot():
    cluster = Devices()
    driver = cluster.node.add_dra_driver(DRIVER)
    pod = cluster.pod("a", "gpu")
    cluster.allocate("gpu", pods=(pod,))
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.node.kill()
    driver.prepared.clear()  # what a driver makes in /var/run
    cluster.node.stop_dra_driver(driver)
    for each in list(cluster.node.cri.state.sandboxes):
        cluster.node.cri.lose_sandbox(each)
    cluster.node.restart_agent()
    cluster.run(30 * SECOND)
    assert cluster.cdi() == [], "its driver is away"
    cluster.node.start_dra_driver(driver)
    cluster.until(lambda: len(cluster.cdi()) == 1, limit_ns=15 * SECOND)
    assert len(driver.prepared) == 1


# (spec 10.12.3)
def test_slices_go_at_the_start_and_half_a_minute_after_their_driver():
    cluster = Devices()
    cluster.until(lambda: bool(cluster.ask("GET", "/api/v1/nodes")["items"]))
    cluster.run(5 * SECOND)
    driver = cluster.node.add_dra_driver(DRIVER)
    cluster.run(SECOND)

    offer, offered = cluster.offer, cluster.offered
    offer("ours", "node")
    offer("others", "other")
    for _ in range(2):
        driver.stop()  # it is killed, and its sockets stay
        cluster.run(20 * SECOND)
        driver.start()
    cluster.run(60 * SECOND)
    assert offered() == {"ours", "others"}
    driver.stop()
    cluster.run(31 * SECOND)
    assert offered() == {"others"}
    driver.start()
    cluster.run(SECOND)
    offer("ours", "node")
    cluster.node.stop_dra_driver(driver)
    cluster.run(20 * SECOND)
    assert offered() == {"ours", "others"}
    cluster.run(15 * SECOND)
    assert offered() == {"others"}
    cluster.node.start_dra_driver(driver)
    cluster.run(2 * SECOND)
    offer("ours", "node")
    cluster.node.restart_agent()
    cluster.run(5 * SECOND)
    assert offered() == {"others"}, "no driver has registered with this agent yet"


def test_slices_of_a_driver_that_came_while_the_api_was_away_stay():
    cluster = Devices()
    cluster.until(lambda: bool(cluster.ask("GET", "/api/v1/nodes")["items"]))
    cluster.node.add_dra_driver(DRIVER)
    cluster.offer("left", "node", "gone.example.com")
    cluster.api.down(20 * SECOND)
    cluster.node.restart_agent()
    cluster.run(15 * SECOND)
    cluster.offer("ours", "node")
    assert cluster.offered() == {"ours", "left"}
    cluster.run(60 * SECOND)
    assert cluster.offered() == {"ours"}


# (spec 10.12.4)
def test_the_status_of_a_pod_tells_the_health_of_its_devices_as_long_as_that_counts():
    cluster = Devices()
    driver = cluster.node.add_dra_driver(DRIVER)
    cluster.allocate("gpu", pods=(cluster.pod("a", "gpu"),))
    cluster.until(lambda: cluster.all_are("Running", 1))

    def health() -> list[tuple[str, str | None]]:
        (status,) = cluster.pods()["a"]["status"]["containerStatuses"]
        (told,) = status["allocatedResourcesStatus"]
        assert told["name"] == "claim:gpu"
        return [(each["health"], each.get("message")) for each in told["resources"]]

    assert health() == [("Unknown", None)]
    driver.say_health(DeviceHealth("pool", "gpu", Health.UNHEALTHY, message="too hot"))
    cluster.run(5 * SECOND)
    assert health() == [("Unhealthy", "too hot")]
    driver.say_health(DeviceHealth("pool", "gpu", Health.HEALTHY))
    cluster.run(5 * SECOND)
    assert health() == [("Healthy", None)]
    cluster.run(40 * SECOND)
    assert health() == [("Unknown", None)], "the driver tells nothing any more"
    driver.say_health(DeviceHealth("pool", "gpu", Health.HEALTHY))
    cluster.run(5 * SECOND)
    cluster.node.stop_dra_driver(driver)
    cluster.run(5 * SECOND)
    assert health() == [("Unknown", None)], "nobody knows"


def test_health_is_told_after_a_restart_of_the_agent_to_pods_that_run_on():
    cluster = Devices()
    driver = cluster.node.add_dra_driver(DRIVER)
    cluster.allocate("gpu", pods=(cluster.pod("a", "gpu"),))
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.node.restart_agent()
    cluster.run(10 * SECOND)
    driver.say_health(DeviceHealth("pool", "gpu", Health.UNHEALTHY, message="too hot"))
    cluster.run(10 * SECOND)
    (status,) = cluster.pods()["a"]["status"]["containerStatuses"]
    (told,) = status["allocatedResourcesStatus"]
    assert [(each["health"], each["message"]) for each in told["resources"]] == [("Unhealthy", "too hot")]
    assert status["restartCount"] == 0
    assert [method for method, _ in driver.calls if method == PREPARE] == [PREPARE]


@pytest.mark.parametrize("wait", [False, True])
def test_a_claim_from_a_template_is_waited_for(wait: bool):
    cluster = Devices()
    cluster.node.add_dra_driver(DRIVER)
    template = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    pod = cluster.create("a", containers=[container(resources={"claims": [{"name": "gpu"}]})], resourceClaims=template)
    if wait:
        cluster.run(20 * SECOND)
        assert cluster.phases() == {"a": "Pending"}
    cluster.allocate("a-gpu-x", pods=(pod,))
    claim = cluster.ask("GET", f"{CLAIMS}/a-gpu-x")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": pod["metadata"]["uid"], "controller": True}
    claim["metadata"]["ownerReferences"] = [owner]
    cluster.ask("PUT", f"{CLAIMS}/a-gpu-x", claim)
    shown = cluster.pods()["a"]
    shown["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": "a-gpu-x"}]
    cluster.ask("PUT", "/api/v1/namespaces/default/pods/a/status", shown)
    cluster.until(lambda: cluster.all_are("Running", 1), limit_ns=15 * SECOND)


# --- seeds ------------------------------------------------------------------------------------------------------------


@over_seeds(8)
def test_in_the_end_exactly_what_is_needed_is_prepared(seed: int):
    play(seed)


def unprepared_by_the_first_pod_that_goes(life: ClaimLife, event: Event) -> ClaimLife:
    after = advance(life, event)
    if isinstance(event, Left) and after.stage is ClaimStage.PREPARED:
        return structs.replace(after, stage=ClaimStage.ENDING)
    return after


def forgotten_after_a_failure(life: ClaimLife, event: Event) -> ClaimLife:
    """kubernetes/kubernetes#137819: one driver fails, and the part of the other stays."""
    after = advance(life, event)
    if after.stage is ClaimStage.ENDING and after.missing:
        return structs.replace(after, stage=ClaimStage.GONE)
    return after


def forgotten_while_it_is_prepared(life: ClaimLife, event: Event) -> ClaimLife:
    """kubernetes/kubernetes#140527: the pod goes while its claim is being prepared."""
    after = advance(life, event)
    if isinstance(event, PreparedBy) and not after.pods:
        return structs.replace(after, stage=ClaimStage.GONE)
    return after


@pytest.mark.parametrize(
    "mutant", [unprepared_by_the_first_pod_that_goes, forgotten_after_a_failure, forgotten_while_it_is_prepared]
)
def test_a_wrong_life_of_claims_is_found(mutant: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(book, "advance", mutant)
    assert any(_fails(seed) for seed in range(1, 41))


def _fails(seed: int) -> bool:
    try:
        play(seed)
    except AssertionError:
        return True
    return False


def play(seed: int) -> None:
    """Agents die, drivers and pods come and go: nothing is prepared without need, no pod stays."""
    cluster = Devices(seed)
    chance = Random(seed)
    drivers = [cluster.node.add_dra_driver(f"d{n}.example.com") for n in range(2)]
    claims: dict[str, list[dict[str, Any]]] = {}
    for number in range(4):
        used = [drivers[number % 2].name] if number < 2 else [each.name for each in drivers]
        claims[f"c{number}"] = []
        cluster.allocate(f"c{number}", *used)
    stands: dict[str, list[str]] = {}
    made = 0
    for _ in range(25):
        what = chance.choice(["create", "create", "delete", "delete", "kill", "stop", "fail", "slow", "slow", "wait"])
        driver = chance.choice(drivers)
        if what == "create" and len(stands) < 5:
            wanted = sorted(chance.sample(sorted(claims), chance.randint(1, 2)))
            name, made = f"p{made}", made + 1
            pod = cluster.pod(name, *wanted)
            stands[name] = wanted
            for each in wanted:
                claims[each].append(pod)
                cluster.reserve(each, *claims[each])
        elif what == "delete" and stands:
            name = chance.choice(sorted(stands))
            del stands[name]
            cluster.delete(name)
        elif what == "kill":
            cluster.node.restart_agent()
        elif what == "stop":
            cluster.node.stop_dra_driver(driver) if driver.alive else cluster.node.start_dra_driver(driver)
        elif what == "slow":
            if driver.slow:
                driver.answer()
            else:
                driver.slow = True
        elif what == "fail":
            driver.fails = {} if driver.fails else {chance.choice([PREPARE, "NodeUnprepareResources"]): "busy"}
        cluster.run(int(chance.choice([0.001, 0.05, 0.5, 3]) * SECOND))
        ready = {uid for each in drivers for uid in each.prepared}
        assert {name.partition("=")[2] for name in cluster.cdi()} <= ready, "a claim in use is not prepared"
    _heal(cluster, drivers)
    cluster.until(lambda: set(cluster.pods()) == set(stands), limit_ns=120 * SECOND)
    cluster.until(lambda: not stands or cluster.all_are("Running", len(stands)), limit_ns=120 * SECOND)
    needed = {each for wanted in stands.values() for each in wanted}
    uids = {name: _uid(cluster, name) for name in claims}
    results = {
        name: cluster.ask("GET", f"{CLAIMS}/{name}")["status"]["allocation"]["devices"]["results"] for name in claims
    }
    cluster.run(70 * SECOND)
    for driver in drivers:
        its = {name for name in claims if any(each["driver"] == driver.name for each in results[name])}
        assert {name for name in its if uids[name] in driver.prepared} == its & needed, driver.name


def _results(cluster: Devices, claim: str) -> list[dict[str, Any]]:
    status = cluster.ask("GET", f"{CLAIMS}/{claim}")["status"]
    return list(status["allocation"]["devices"]["results"])


def _heal(cluster: Devices, drivers: list[SimulatedDraDriver]) -> None:
    for driver in drivers:
        driver.fails = {}
        driver.answer()
        if not driver.alive:
            cluster.node.start_dra_driver(driver)
