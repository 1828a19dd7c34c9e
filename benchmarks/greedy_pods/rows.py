"""The greedy pods of the benchmark, and the small pods beside them, as documents of the API.

The sizes are those with which other pods suffered before pods took turns; `scale` makes all smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Json = dict[str, Any]

KIB = 1024
SETTINGS = "settings"
"""The ConfigMap of the small pods."""
LARGE = "greedy"
"""The ConfigMap of greedy pods, with one key."""
KEY = "data"
SLEEPS = ["sleep", "1000000"]


class Row(msgspec.Struct, frozen=True):
    """`document`: the pod for a node, an image and a dead mount. `objects`: ConfigMaps by name."""

    name: str
    document: Callable[[str, str, str], Json]
    objects: Mapping[str, Json] = {}
    needs_dead_mount: bool = False


def pod(name: str, node: str, image: str, **more: Any) -> Json:
    """A pod of one container that sleeps; `more` of its spec. All its volumes are mounted."""
    mounts = [{"name": each["name"], "mountPath": f"/volumes/{each['name']}"} for each in more.get("volumes", ())]
    container = {"name": "app", "image": image, "imagePullPolicy": "IfNotPresent", "command": SLEEPS}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [{**container, "volumeMounts": mounts}],
            **more,
        },
    }


def small(name: str, node: str, image: str) -> Json:
    """A pod as most are: a ConfigMap, a directory, a token."""
    token = {"serviceAccountToken": {"path": "token"}}
    volumes = [
        {"name": "own", "emptyDir": {}},
        {"name": "config", "configMap": {"name": SETTINGS}},
        {"name": "token", "projected": {"sources": [token]}},
    ]
    return pod(name, node, image, volumes=volumes)


def rows(scale: float = 1.0) -> tuple[Row, ...]:
    """All of them."""

    def times(number: int) -> int:
        return max(1, int(number * scale))

    def with_volumes(volumes: list[Json]) -> Callable[[str, str, str], Json]:
        return lambda node, image, _: pod("greedy", node, image, volumes=volumes)

    def shown_annotations(node: str, image: str, _: str) -> Json:
        items = [
            {"path": f"p{number}", "fieldRef": {"fieldPath": "metadata.annotations"}} for number in range(times(1000))
        ]
        document = pod("greedy", node, image, volumes=[{"name": "shown", "downwardAPI": {"items": items}}])
        document["metadata"]["annotations"] = {"greedy/shown": "x" * times(250_000)}
        return document

    def on_dead_mount(node: str, image: str, dead: str) -> Json:
        volumes = [
            {"name": f"v{number}", "hostPath": {"path": dead, "type": "Directory"}} for number in range(times(200))
        ]
        return pod("greedy", node, image, volumes=volumes)

    def with_images(node: str, image: str, _: str) -> Json:
        document = pod("greedy", node, image)
        document["spec"]["containers"] += [
            {"name": f"c{number}", "image": f"registry.example/greedy-{number}:1"} for number in range(times(2000))
        ]
        return document

    def with_long_names(node: str, image: str, _: str) -> Json:
        document = pod("greedy", node, image)
        headers = [{"name": "X-Greedy", "value": "x" * times(500 * KIB)}]
        probe = {"httpGet": {"port": 80, "httpHeaders": headers}}
        long = {"name": "long", "image": f"registry.example/{'x' * times(500 * KIB)}:1"}
        document["spec"]["containers"] += [long, {"name": "probed", "image": image, "livenessProbe": probe}]
        return document

    directories = [{"name": f"v{number}", "emptyDir": {}} for number in range(times(5000))]
    tokens = [{"serviceAccountToken": {"path": f"t{n}", "audience": f"a{n}"}} for n in range(times(3000))]
    paths = [{"key": KEY, "path": f"p{number}"} for number in range(times(3000))]
    of_config_map = [{"name": "config", "configMap": {"name": LARGE, "items": paths}}]
    # The agent bounds the content of a pod's volumes: one megabyte under all of these paths is refused, with words.
    large = {LARGE: {KEY: "x" * times(1_000_000)}}
    return (
        Row("250 kB of annotations under 1,000 paths", shown_annotations),
        Row("200 volumes of a server that does not answer", on_dead_mount, needs_dead_mount=True),
        Row("5,000 emptyDirs", with_volumes(directories)),
        Row("3,000 tokens for different audiences", with_volumes([{"name": "t", "projected": {"sources": tokens}}])),
        Row("a ConfigMap of 1 MB under 3,000 paths", with_volumes(of_config_map), large),
        Row("2,000 images", with_images),
        Row("an image name and a probe header of 500 kB", with_long_names),
    )
