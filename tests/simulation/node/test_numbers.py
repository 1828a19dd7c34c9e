"""A simulated node reports its usage.

The documents and pages are those of a real node, from simulated usage.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from actors.eviction.signals import MEMORY, NODE_FS, PIDS, signals_of
from actors.kernel import SimulatedDispatcher
from actors.node.numbers import NodeNumbers
from simulation.cri.simulated_cri import SimulatedCri
from simulation.node.simulated_node import ROOT, SimulatedNode

SECOND_NS = 1_000_000_000
POD = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: default
  annotations:
    simulated.actorlet.dev/cpu: 250m
    simulated.actorlet.dev/memory: 64Mi
    simulated.actorlet.dev/output: hello
spec:
  dnsPolicy: Default
  volumes: [{name: scratch, emptyDir: {}}]
  containers:
  - name: app
    image: web
    volumeMounts: [{name: scratch, mountPath: /scratch}]
    livenessProbe: {httpGet: {port: 80}, periodSeconds: 5}
"""


class Counted:
    """A node with so many pods, a minute old.

    `hangs`: a directory that does not answer from the beginning.
    """

    def __init__(self, pods: int = 1, hangs: str = "") -> None:
        self.dispatcher = SimulatedDispatcher(seed=7)
        texts = {f"{i}.yaml": POD.replace("NAME", f"web{i}") for i in range(pods)}
        self.world = SimulatedNode(self.dispatcher, manifests=texts)
        if hangs:
            self.world.host.tree.hang(hangs)
        self.world.start()
        self.dispatcher.run_for(60 * SECOND_NS)
        self.numbers = NodeNumbers(self.world.node, "1")

    def summary(self, **options: bool) -> Any:
        document = self.numbers.summary(**options)
        assert document is not None
        return json.loads(document)

    def calls_of(self, verb: str) -> float:
        return self.value(f'kubelet_runtime_operations_total{{operation_type="{verb}"}}')

    def value(self, series: str) -> float:
        """Of a series of `/metrics`, as it is written there; 0 without one."""
        page = self.numbers.metrics().decode()
        line = f"{series} "
        return next((float(each.removeprefix(line)) for each in page.splitlines() if each.startswith(line)), 0)


# (spec 11.2.3, 11.6.1, 11.6.2)
def test_the_summary_is_what_the_annotations_say() -> None:
    told = Counted().summary()
    (pod,) = told["pods"]
    (app,) = pod["containers"]
    assert pod["podRef"]["name"] == "web0-node"
    assert app["cpu"]["usageNanoCores"] == 250_000_000
    assert app["memory"]["workingSetBytes"] == 64 * 2**20
    assert app["logs"]["usedBytes"] > 0
    assert [volume["name"] for volume in pod["volume"]] == ["scratch"]
    assert told["node"]["cpu"]["usageNanoCores"] == 300_000_000, "what its containers use, and a little of its own"
    assert told["node"]["memory"]["availableBytes"] == 16 * 2**30 - (64 + 256) * 2**20
    assert told["node"]["systemContainers"][0]["name"] == "kubelet"


def test_cpu_and_memory_alone() -> None:
    told = Counted().summary(only_cpu_and_memory=True)
    assert set(told["node"]) == {"nodeName", "startTime", "systemContainers", "cpu", "memory"}
    assert set(told["pods"][0]) == {"podRef", "startTime", "containers", "cpu", "memory"}


def test_the_summary_asks_the_runtime_on_request_and_once_in_ten_seconds() -> None:
    counted = Counted()
    assert counted.calls_of("list_container_stats") == 2, "the page itself has asked, for the disks"
    counted.dispatcher.run_for(600 * SECOND_NS)
    counted.summary()
    asked = counted.calls_of("list_container_stats")
    assert asked == 4, "a question after so long needs two samples for a rate"
    counted.summary()
    counted.dispatcher.run_for(5 * SECOND_NS)
    counted.summary()
    assert counted.calls_of("list_container_stats") == asked
    counted.dispatcher.run_for(600 * SECOND_NS)
    assert counted.calls_of("list_container_stats") == asked + 2, "by this page alone"


def test_a_disk_that_does_not_answer_costs_its_own_numbers_alone() -> None:
    counted = Counted(pods=2)
    first, second = (pod.metadata for pod in counted.world.pods())
    counted.world.host.tree.hang(f"{ROOT}/pods/{first.uid}/volumes")
    before_ns = counted.dispatcher.now_ns()
    told = {pod["podRef"]["uid"]: pod for pod in counted.summary()["pods"]}
    assert counted.dispatcher.now_ns() - before_ns < 10 * SECOND_NS
    assert "volume" not in told[first.uid]
    assert [volume["name"] for volume in told[second.uid]["volume"]] == ["scratch"]
    assert told[first.uid]["cpu"]["usageNanoCores"] == 250_000_000
    for _ in range(20):
        counted.dispatcher.run_for(30 * SECOND_NS)
        assert counted.summary()["pods"]
    lane = next(lane for lane in counted.world.node.report().lanes if lane.name == "stats-pods")
    key = next(key for key in lane.keys if key.key == first.uid)
    assert (key.running + key.hanging, key.waiting) == (1, 0), "it is not tried again while it hangs"
    sample = counted.world.node.stats()
    assert sample is not None
    assert any(first.uid in problem and "still under way" in problem for problem in sample.problems)


def test_a_root_directory_that_does_not_answer_is_not_waited_for() -> None:
    counted = Counted()
    counted.summary()
    counted.world.host.tree.hang(ROOT)
    counted.dispatcher.run_for(20 * SECOND_NS)
    told = counted.summary()
    assert told["node"]["fs"]["capacityBytes"] > 0, "as it was"
    sample = counted.world.node.stats()
    assert sample is not None
    assert any("root directory" in problem for problem in sample.problems)


def scraped(page: bytes) -> dict[str, float]:
    """What is known of the node, and whether something could not be read."""
    names = ("node_memory_working_set_bytes", "resource_scrape_error", "machine_memory_bytes", "container_scrape_error")
    families = text_string_to_metric_families(page.decode())
    return {each.name: each.samples[0].value for each in families if each.name in names}


@pytest.mark.parametrize("down", [True, False])
def test_a_runtime_that_is_away_costs_the_pods_and_not_the_node(down: bool) -> None:
    """The summary does not say that there are no pods.

    The pages show that something is missing.
    """
    counted = Counted()
    cri: SimulatedCri = counted.world.cri
    if down:
        cri.go_down()
    assert (counted.numbers.summary() is None) is down
    assert (counted.numbers.summary(only_cpu_and_memory=True) is None) is down
    resource, cadvisor = scraped(counted.numbers.resource()), scraped(counted.numbers.cadvisor())
    assert resource.pop("node_memory_working_set_bytes") > 0
    assert resource == {"resource_scrape_error": float(down)}
    assert cadvisor == {"machine_memory_bytes": 16 * 2**30, "container_scrape_error": float(down)}


@pytest.mark.parametrize("only_cpu_and_memory", [True, False])
def test_a_summary_does_not_say_that_there_are_no_pods_while_nobody_can_say(only_cpu_and_memory: bool) -> None:
    counted = Counted()
    ref = counted.world.node.system.find("/node/status-manager")
    assert ref is not None
    ref.stop()
    counted.dispatcher.run_for(SECOND_NS)
    told = counted.numbers.summary(only_cpu_and_memory=only_cpu_and_memory)
    # Which pods use what the runtime says; which of their volumes are of memory only who knows the pods.
    assert (told is None) is not only_cpu_and_memory


# (spec 11.2.3)
def test_every_page_is_read_by_a_client_of_prometheus() -> None:
    counted = Counted(pods=3)
    numbers = counted.numbers
    pages = [numbers.metrics(), numbers.cadvisor(), numbers.resource(), numbers.probes()]
    read = [{family.name: family for family in text_string_to_metric_families(page.decode())} for page in pages]
    assert sum(sample.value for sample in read[0]["kubelet_desired_pods"].samples) == 3
    assert [sample.value for sample in read[0]["kubelet_running_pods"].samples] == [3]
    workers = {sample.labels["actor_class"]: sample.value for sample in read[0]["actorlet_actors"].samples}
    assert workers["PodWorker"] == 3
    usage = [sample for sample in read[1]["container_cpu_usage_seconds"].samples if sample.labels["container"] == "app"]
    assert len(usage) == 3
    assert len(read[2]["pod_memory_working_set_bytes"].samples) == 3
    probed = read[3]["prober_probe"].samples
    assert {sample.labels["result"] for sample in probed if sample.name == "prober_probe_total"} == {"successful"}


@pytest.mark.parametrize(("hangs", "actual"), [("", 2), (f"{ROOT}/pods", 0)])
def test_volumes_are_counted_as_pods_want_them_and_as_they_are(hangs: str, actual: int) -> None:
    counted = Counted(pods=2, hangs=hangs)
    series = 'volume_manager_total_volumes{{plugin_name="kubernetes.io/empty-dir",state="{}"}}'
    assert counted.value(series.format("desired_state_of_world")) == 2
    assert counted.value(series.format("actual_state_of_world")) == actual


def test_actors_are_told_as_work_queues() -> None:
    counted = Counted(pods=2)
    worker = '{name="PodWorker"}'
    assert counted.value(f"workqueue_adds_total{worker}") >= counted.value(
        'actorlet_messages_handled_total{actor_class="PodWorker"}'
    )
    page = counted.numbers.metrics().decode()
    for name in ("depth", "retries_total", "longest_running_processor_seconds", "unfinished_work_seconds"):
        assert f"\nworkqueue_{name}{worker} 0\n" in page


def test_the_probes_of_a_pod_are_forgotten_with_it() -> None:
    counted = Counted(pods=2)
    counted.world.remove_manifest("0.yaml")
    counted.dispatcher.run_for(60 * SECOND_NS)
    page = counted.numbers.probes().decode()
    assert "web1-node" in page
    assert "web0-node" not in page


def test_the_signals_of_eviction_follow_the_machine() -> None:
    counted = Counted()
    usage, stats = counted.world.usage, counted.world.node.stats
    usage.own_memory_bytes = 15 * 2**30
    usage.used_bytes = usage.disk_bytes
    sample = stats(0)
    assert sample is not None
    signals = signals_of(sample)
    assert signals[MEMORY].available == 2**30 - 64 * 2**20
    assert signals[NODE_FS].available == 0
    assert 0 < signals[PIDS].available < signals[PIDS].capacity
