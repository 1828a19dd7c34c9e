"""What the agent remembers of pods does not depend on how large their texts are.

For every field of a pod that can be large.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from collections.abc import Iterable

from actors.events.historian import GoneStories
from actors.events.kept import KeptEvents
from actors.model.pull_records import PulledRecord
from cli.silence import silence
from config.caches import MIB, KeptBytes
from config.objects import ContainerImage
from runtime.cri.messages import Image
from tests.live_texts import holders_of, modules
from tests.simulation.node.large_fields import FIELDS, Spec, Texts
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.worlds import SECOND, container, manifest

MARK = "wq7z"
LARGE = 50_000
BOUNDED = (KeptBytes, KeptEvents, GoneStories)
"""What is remembered on purpose; their own tests hold them to their bytes."""
ON_THE_NODE = (Image, ContainerImage, PulledRecord)
"""Of the images that are still on the node; they go with these."""
NOT_OURS = ("simulation.", "tests.", "_pytest", "pytest", "linecache")
"""The last one has lines of this file, once an error was shown."""
PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
BACK_WITHIN = 20 * MIB


def pod(name: str, spec: Spec) -> Spec:
    metadata = {"name": name} | {key: spec[key] for key in ("annotations", "labels") if key in spec}
    rest = {key: value for key, value in spec.items() if key not in metadata}
    plain = {"nodeName": "node", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container()], **plain, **rest},
    }


def create(cluster: Cluster, specs: Iterable[Spec]) -> None:
    for number, spec in enumerate(specs):
        name = spec.get("runtimeClassName")
        if name:  # admission takes a pod only while its class is there
            cluster.ask("POST", CLASSES, {"metadata": {"name": name}, "handler": "runsc"})
        cluster.ask("POST", PODS, pod(f"pod-{number}", spec))
        if name:
            cluster.ask("DELETE", f"{CLASSES}/{name}")


def delete_all(cluster: Cluster) -> None:
    """Wait until they are gone, and a minute longer."""
    for name in cluster.pods():
        cluster.delete(name)
    cluster.until(lambda: not cluster.pods() and not cluster.node.pods(), 5 * MINUTE, SECOND)
    cluster.run(MINUTE)


def held_by_the_agent(cluster: Cluster) -> Counter[str]:
    gc.collect()
    roots = [("agent", cluster.node.node), ("dispatcher", cluster.dispatcher), *modules(*NOT_OURS)]
    return holders_of(MARK, roots, beside=BOUNDED + ON_THE_NODE, not_in=NOT_OURS)


def test_nothing_of_a_large_pod_stays_with_the_agent() -> None:
    with silence():
        cluster, texts = Cluster(), Texts(MARK, LARGE)
        cluster.run(10 * SECOND)
        create(cluster, (make(texts) for make in FIELDS.values()))
        cluster.run(30 * SECOND)
        phases = Counter(cluster.phases().values())
        assert phases["Running"] > len(FIELDS) / 2, phases
        assert len(held_by_the_agent(cluster)) > 20, "while the pods are here, their texts are"
        delete_all(cluster)
        assert not held_by_the_agent(cluster)
        assert not cluster.node.node.late_actors()


def test_nothing_of_a_large_static_pod_stays_with_the_agent() -> None:
    with silence():
        cluster, texts = Cluster(), Texts(MARK, LARGE)
        cluster.run(10 * SECOND)
        names = [f"{number}.yaml" for number in range(len(FIELDS))]
        for name, make in zip(names, FIELDS.values(), strict=True):
            spec = {key: value for key, value in make(texts).items() if key not in ("annotations", "labels")}
            cluster.node.put_manifest(name, manifest(name.partition(".")[0], spec.pop("containers", ()), **spec))
        cluster.run(30 * SECOND)
        assert len(held_by_the_agent(cluster)) > 20
        for name in names:
            cluster.node.remove_manifest(name)
        delete_all(cluster)
        assert not held_by_the_agent(cluster)


def test_nothing_of_large_objects_that_pods_refer_to_stays_with_the_agent() -> None:
    with silence():
        cluster, texts = Cluster(), Texts(MARK, LARGE)
        cluster.run(10 * SECOND)
        for kind, plural in (("ConfigMap", "configmaps"), ("Secret", "secrets")):
            body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "large"}}
            data = {"data": {"a": texts.long()}} if kind == "ConfigMap" else {"stringData": {"a": texts.long()}}
            cluster.ask("POST", f"/api/v1/namespaces/default/{plural}", body | data)
        both = {"sources": [{"configMap": {"name": "large"}}, {"secret": {"name": "large"}}]}
        env = [{"configMapRef": {"name": "large"}}, {"secretRef": {"name": "large"}}]
        mounts = [{"name": "v", "mountPath": "/v"}]
        spec = {
            "volumes": [{"name": "v", "projected": both}],
            "containers": [container(volumeMounts=mounts, envFrom=env)],
        }
        create(cluster, [spec])
        cluster.until(lambda: cluster.all_are("Running", 1))
        assert held_by_the_agent(cluster)
        delete_all(cluster)
        assert not held_by_the_agent(cluster)


def test_a_burst_of_large_pods_gives_its_memory_back_within_a_minute() -> None:
    """Also that of the API server and of the runtime, which are in this process."""
    fields = ("image", "invalid image", "env", "many env", "headers", "header", "command", "sysctl", "annotation")
    with silence():
        cluster = Cluster()
        create(cluster, [{}])
        cluster.run(30 * SECOND)
        delete_all(cluster)
        texts = Texts(MARK, 200_000)
        gc.collect()
        tracemalloc.start()
        try:
            for _ in range(4):
                create(cluster, (FIELDS[field](texts) for field in fields for _ in range(2)))
                cluster.run(20 * SECOND)
                gc.collect()
                taken = tracemalloc.get_traced_memory()[0]
                delete_all(cluster)
            gc.collect()
            left = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    assert left <= BACK_WITHIN
    assert taken > left
