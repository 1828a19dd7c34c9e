"""`--what-if` says what admission then does, and who would have to go."""

from __future__ import annotations

import os
import random
import re
from typing import Any, TypeAlias

import msgspec
import pytest

from actors.messages.admission import AdmissionWaits, AllocationReleased, PodAdmitted, PodRejected
from actors.messages.devices import DevicesGiven
from actors.messages.shares import SharesGiven
from actors.model.devices import Offer, PodDevices
from actors.model.shares import PodShares
from actors.resources.topology.masks import mask_of
from actors.resources.what_if import Foreseen, KnownNode, TellNode, foresee, who_would_go
from config.frozen_map import FrozenMap
from config.kubelet.configuration import MemoryReservation
from config.objects import Pod, PodStatus
from config.objects.pod_status import ContainerExtendedResourceRequest, PodExtendedResourceClaimStatus
from config.pods.identity import CONFIG_SOURCE
from runtime.device_plugins.capability import Device, PluginOptions
from tests.actors.resources.test_share_keeper import MEMORY, ShareScene, pinned

CASES = int(os.environ.get("ACTORLET_WHAT_IF_CASES", "400"))
PER_NODE = 20
GPU, NIC = "vendor.example/gpu", "vendor.example/nic"
MACHINES = ("1x8x1", "2x4x1", "2x4x2", "4x2x2", "2x8x2 caches=2", "2x4x2 offline=3", "2x4x1 memory-only=1")


def known(scene: ShareScene) -> KnownNode:
    answer = scene.manager.ask(TellNode(), block=False)
    scene.dispatcher.run_for(10**7)
    found = answer.get(timeout=0)
    assert isinstance(found, KnownNode)
    return found


Ids: TypeAlias = dict[str, dict[str, tuple[str, ...]]]
"""Container -> resource -> its devices."""
Became: TypeAlias = str | tuple[PodShares, Ids]
"""What is said of a pod that is not taken; or its shares and its devices."""


def admitted(scene: ShareScene, pod: Pod) -> Became:
    """What becomes of the pod: what it has, the words of its refusal, or that it waits."""
    told = scene.ask(pod)
    scene.dispatcher.run_for(10**8)  # its plugins answer
    last = [each for each in told if isinstance(each, PodAdmitted | PodRejected | AdmissionWaits)][-1]
    if isinstance(last, PodRejected):
        return f"{last.reason}: {last.message}"
    if isinstance(last, AdmissionWaits):
        away = re.findall(r"the device plugin of (\S+) has", last.text)
        return f"waits for {', '.join(away)}" if away else last.text
    given = [each.shares for each in told if isinstance(each, SharesGiven)]
    devices = [each.devices for each in told if isinstance(each, DevicesGiven)]
    return (given[-1] if given else PodShares()), ids_of(devices[-1] if devices else FrozenMap())


def ids_of(devices: PodDevices) -> Ids:
    return {name: {resource: held.ids for resource, held in has.items()} for name, has in devices.items() if has}


def foreseen_words(foreseen: Foreseen) -> Became:
    if foreseen.refused is not None:
        return f"{foreseen.refused.reason}: {foreseen.refused.message}"
    if foreseen.waits_for:
        return f"waits for {', '.join(foreseen.waits_for)}"
    if foreseen.victims:
        return f"others make way for it: {', '.join(f'{each.namespace}/{each.name}' for each in foreseen.victims)}"
    return foreseen.shares, ids_of(foreseen.devices)


def random_offer(chance: random.Random, nodes: int) -> Offer:
    """A plugin that is here or away, with devices near some NUMA nodes, of which a few are not healthy."""
    if chance.random() < 0.1:
        return Offer(connected=False)
    count = chance.choice([1, 2, 4, 8])
    near = [tuple(sorted(chance.sample(range(nodes), chance.choice([0, 1, 1, nodes])))) for _ in range(count)]
    devices = tuple(Device(f"device-{n}", chance.random() < 0.9, near[n]) for n in range(count))
    return Offer(devices, PluginOptions(prefers=chance.random() < 0.3))


def random_scene(chance: random.Random, *, devices: bool) -> ShareScene:
    fields: dict[str, Any] = {"cpu_manager_policy": chance.choice(["none", "static", "static", "static"])}
    machine = chance.choice(MACHINES)
    if chance.random() < 0.5:
        fields |= MEMORY
        fields["reserved_memory"] = (MemoryReservation(numa_node=0, limits={"memory": "100Mi"}),)
    fields["topology_manager_policy"] = chance.choice(["none", "best-effort", "restricted", "single-numa-node"])
    fields["topology_manager_scope"] = chance.choice(["container", "pod"])
    if chance.random() < 0.3 and fields["cpu_manager_policy"] == "static":
        fields["cpu_manager_policy_options"] = {"full-pcpus-only": "true"}
    offers = {each: random_offer(chance, int(machine[0])) for each in (GPU, NIC)} if devices else None
    return ShareScene(machine, offers=offers, **fields)


def random_pod(chance: random.Random, uid: str, *, devices: bool) -> Pod:
    asked: dict[str, str] = {}
    if devices:
        asked = {each: chance.choice(["1", "1", "2", "3"]) for each in (GPU, NIC) if chance.random() < 0.6}
        if chance.random() < 0.1:
            asked["vendor.example/claimed"] = "1"
    pod = pinned(
        uid,
        chance.choice(["1", "2", "3", "4", "6", "500m"]),
        f"{chance.choice([1, 2, 4, 8, 14])}Gi",
        devices=asked,
    )
    if chance.random() < 0.2:
        pod = pinned(uid, "1", "1Gi", init=f"{chance.choice([1, 4])}Gi", devices=asked)
    if chance.random() < 0.5:
        return of_a_claim(pod)
    return static(pod) if chance.random() < 0.2 else pod


def static(pod: Pod) -> Pod:
    """The same, from a manifest on the node."""
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, annotations={CONFIG_SOURCE: "file"})
    )


def of_a_claim(pod: Pod) -> Pod:
    """The same, where a scheduler has given it a device of a driver by a claim."""
    given = PodExtendedResourceClaimStatus(
        request_mappings=(ContainerExtendedResourceRequest("app", "request", "vendor.example/claimed"),),
        resource_claim_name="claimed",
    )
    return msgspec.structs.replace(pod, status=PodStatus(extended_resource_claim_status=given))


@pytest.mark.parametrize("devices", [False, True], ids=["without devices", "with devices"])
@pytest.mark.parametrize("seed", range(max(1, CASES // PER_NODE)))
def test_what_is_foreseen_is_what_admission_does(seed: int, devices: bool) -> None:
    chance = random.Random(seed)
    scene = random_scene(chance, devices=devices)
    here: list[str] = []
    for number in range(PER_NODE):
        if here and chance.random() < 0.3:
            scene.tell(AllocationReleased(here.pop(chance.randrange(len(here)))))
        pod = random_pod(chance, f"p{number}", devices=devices)
        before = foreseen_words(foresee(pod, known(scene)))
        became = admitted(scene, pod)
        assert before == became, (seed, number)
        if isinstance(became, str):
            scene.tell(AllocationReleased(pod.metadata.uid))  # else one that waits would come later
        else:
            here.append(pod.metadata.uid)


def test_who_would_go_are_the_fewest_and_the_pod_fits_without_them() -> None:
    scene = ShareScene(topology_manager_policy="single-numa-node")
    for uid, cpus in (("a", "2"), ("b", "1"), ("c", "3"), ("d", "1")):
        scene.ask(pinned(uid, cpus))
    node = known(scene)
    wanted = pinned("w", "4")
    assert foresee(wanted, node).refused is not None
    found = who_would_go(wanted, node)
    assert {each.uid for each in found.pods} == {"c", "d"}
    for uid in ("c", "d"):
        scene.tell(AllocationReleased(uid))
    assert isinstance(admitted(scene, wanted), tuple)


def test_hints_say_which_nodes_each_resource_excludes() -> None:
    # Only node 1 has CPUs left, and only node 0 has the memory.
    scene = ShareScene("2x4x1 memory=8Gi", topology_manager_policy="single-numa-node", **MEMORY)
    scene.ask(pinned("a", "3", "1Gi"))
    scene.ask(pinned("b", "1", "7Gi"))
    foreseen = foresee(pinned("w", "1", "4Gi"), known(scene))
    assert foreseen.refused is not None
    assert foreseen.refused.reason == "TopologyAffinityError"
    alone = {each.resource: [mask for mask in each.hints or {} if mask.bit_count() == 1] for each in foreseen.hints}
    assert alone == {"cpu": [mask_of([1])], "memory": [mask_of([0])]}
    assert {each.who for each in foreseen.hints} == {"app"}


def test_nobody_would_go_where_the_empty_node_refuses_too() -> None:
    scene = ShareScene(topology_manager_policy="single-numa-node")
    scene.ask(pinned("a", "2"))
    found = who_would_go(pinned("w", "5"), known(scene))
    assert not found.pods
    assert found.refused is not None
    assert found.refused.reason == "TopologyAffinityError"


def test_a_search_that_is_cut_short_says_so() -> None:
    scene = ShareScene()
    for number in range(7):
        scene.ask(pinned(f"p{number}", "1", "1Gi"))
    found = who_would_go(pinned("w", "3"), known(scene), tries=5)
    assert (found.pods, found.tried_all) == ((), False)


def test_asking_changes_nothing() -> None:
    scene = ShareScene()
    scene.ask(pinned("a", "2"))
    before = known(scene)
    who_would_go(pinned("w", "7"), before)
    assert known(scene) == before
