"""Pods that are large in one field each, up to what an API server accepts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

KIB = 1024
LIMIT_BYTES = 1536 * KIB
"""An object of the API holds at most this: the limit of etcd for a request."""
ROOM_BYTES = 24 * KIB
"""Left free: what the API server and the node add to the object."""
ANNOTATIONS_BYTES = 256 * KIB
"""All annotations of an object together hold at most this."""
IMAGE = "docker.io/library/busybox:1.36"
CONFIG_MAP = "settings"

Body = dict[str, Any]
Add = Callable[[Body, int], None]
"""Adds item number N to a pod."""
Put = Callable[[Body, str], None]
"""Puts a long text into a pod."""


def small_pod(name: str) -> Body:
    """A pod of one container, bound to the node."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": {}, "labels": {}},
        "spec": {
            "nodeName": "node",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "containers": [_container("app")],
            "volumes": [],
        },
    }


def large_pod(name: str, field: str, size_bytes: int = LIMIT_BYTES - ROOM_BYTES) -> Body:
    """A pod whose JSON has about this size because of one field."""
    pod = small_pod(name)
    if field in LONG:
        LONG[field](pod, "x" * (size_bytes - _size(pod) - KIB))
        return pod
    add = MANY[field]
    if field == "annotations":
        size_bytes = min(size_bytes, ANNOTATIONS_BYTES - KIB)
    item_bytes = _item_bytes(name, field)
    for number in range((size_bytes - _size(pod)) // item_bytes):
        add(pod, number)
    return pod


def _item_bytes(name: str, field: str) -> int:
    """How much JSON an item takes, with a number of five digits."""
    pod = small_pod(name)
    MANY[field](pod, 10_000)
    before = _size(pod)
    MANY[field](pod, 10_001)
    return _size(pod) - before


def _size(pod: Body) -> int:
    return len(json.dumps(pod, separators=(",", ":")))


def _container(name: str, **fields: Any) -> Body:
    return {"name": name, "image": IMAGE, "imagePullPolicy": "IfNotPresent", **fields}


def _app(pod: Body) -> Body:
    app: Body = pod["spec"]["containers"][0]
    return app


def _spec(field: str, item: Callable[[int], Any]) -> Add:
    return lambda pod, number: pod["spec"].setdefault(field, []).append(item(number))


def _of_app(field: str, item: Callable[[int], Any]) -> Add:
    return lambda pod, number: _app(pod).setdefault(field, []).append(item(number))


def _volume(source: Callable[[int], Body]) -> Add:
    return _spec("volumes", lambda number: {"name": f"v{number}", **source(number)})


def _mounted(pod: Body, number: int) -> None:
    pod["spec"]["volumes"].append({"name": f"v{number}", "emptyDir": {}})
    _app(pod).setdefault("volumeMounts", []).append({"name": f"v{number}", "mountPath": f"/m{number}"})


def _sub_path(pod: Body, number: int) -> None:
    pod["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    _app(pod).setdefault("volumeMounts", []).append({"name": "v", "mountPath": f"/m{number}", "subPath": f"s{number}"})


def _one_volume(pod: Body, source: Body) -> Body:
    if not pod["spec"]["volumes"]:
        pod["spec"]["volumes"].append({"name": "v", **source})
        _app(pod)["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    volume: Body = pod["spec"]["volumes"][0]
    return volume


def _config_map_path(pod: Body, number: int) -> None:
    source = _one_volume(pod, {"configMap": {"name": CONFIG_MAP, "items": []}})
    source["configMap"]["items"].append({"key": "key", "path": f"p{number}"})


def _downward_path(pod: Body, number: int) -> None:
    source = _one_volume(pod, {"downwardAPI": {"items": []}})
    field = {"fieldPath": "metadata.annotations"}
    source["downwardAPI"]["items"].append({"path": f"p{number}", "fieldRef": field})


def _token(pod: Body, number: int) -> None:
    source = _one_volume(pod, {"projected": {"sources": []}})
    token = {"path": f"p{number}", "audience": f"a{number}"}
    source["projected"]["sources"].append({"serviceAccountToken": token})


def _projected(pod: Body, number: int) -> None:
    source = _one_volume(pod, {"projected": {"sources": []}})
    items = [{"key": "key", "path": f"p{number}"}]
    source["projected"]["sources"].append({"configMap": {"name": CONFIG_MAP, "items": items}})


def _ephemeral(pod: Body, number: int) -> None:
    pod["spec"].setdefault("ephemeralContainers", []).append(_container(f"e{number}"))


def _header(number: int) -> Body:
    return {"name": f"X-{number}", "value": "v"}


def _probe(kind: str) -> Add:
    def add(pod: Body, number: int) -> None:
        probe = _app(pod).setdefault(kind, {"httpGet": {"port": 80, "httpHeaders": []}})
        probe["httpGet"]["httpHeaders"].append(_header(number))

    return add


def _hook(pod: Body, number: int) -> None:
    hook = {"postStart": {"httpGet": {"port": 80, "httpHeaders": []}}}
    lifecycle = _app(pod).setdefault("lifecycle", hook)
    lifecycle["postStart"]["httpGet"]["httpHeaders"].append(_header(number))


def _claim(pod: Body, number: int) -> None:
    pod["spec"].setdefault("resourceClaims", []).append({"name": f"c{number}", "resourceClaimName": f"c{number}"})
    _app(pod).setdefault("resources", {}).setdefault("claims", []).append({"name": f"c{number}"})


def _affinity(pod: Body, number: int) -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = pod["spec"].setdefault("affinity", {"podAffinity": {required: []}})
    selector = {"matchLabels": {f"a{number}": "b"}}
    affinity["podAffinity"][required].append({"topologyKey": "kubernetes.io/hostname", "labelSelector": selector})


def _node_affinity(pod: Body, number: int) -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]}]}
    affinity = pod["spec"].setdefault("affinity", {"nodeAffinity": {required: terms}})
    term = {"matchExpressions": [{"key": f"a{number}", "operator": "Exists"}]}
    affinity["nodeAffinity"][required]["nodeSelectorTerms"].insert(0, term)


def _spread(number: int) -> Body:
    return {"maxSkew": 1, "topologyKey": f"k{number}", "whenUnsatisfiable": "ScheduleAnyway"}


def _pod_security(field: str, item: Callable[[int], Any]) -> Add:
    return lambda pod, number: pod["spec"].setdefault("securityContext", {}).setdefault(field, []).append(item(number))


def _capability(pod: Body, number: int) -> None:
    capabilities = _app(pod).setdefault("securityContext", {"capabilities": {"add": []}})["capabilities"]
    capabilities["add"].append(f"CAP_{number}")


def _resource(pod: Body, number: int) -> None:
    resources = _app(pod).setdefault("resources", {"limits": {}, "requests": {}})
    for values in resources.values():
        values[f"hugepages-{number}Mi"] = "0"


def _env_reference(number: int) -> Body:
    return {"name": f"E{number}", "value": f"$(E{number - 1})" if number else "x"}


def _env_of_field(number: int) -> Body:
    return {"name": f"E{number}", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}


def _env_of_key(number: int) -> Body:
    return {"name": f"E{number}", "valueFrom": {"configMapKeyRef": {"name": CONFIG_MAP, "key": "key"}}}


def _init(number: int) -> Body:
    return _container(f"i{number}")


def _init_container(pod: Body, number: int) -> None:
    pod["metadata"]["annotations"]["simulated.actorlet.dev/run-for"] = "1ms"
    pod["metadata"]["annotations"]["simulated.actorlet.dev/run-for.app"] = "forever"
    pod["spec"].setdefault("initContainers", []).append(_init(number))


def _port(number: int) -> Body:
    return {"containerPort": 1 + number % 60_000, "protocol": ("TCP", "UDP", "SCTP")[number // 60_000]}


def _host_port(number: int) -> Body:
    return {"containerPort": 1 + number, "hostPort": 1 + number}


def _annotation(pod: Body, number: int) -> None:
    pod["metadata"]["annotations"][f"a{number}"] = "v"


def _label(pod: Body, number: int) -> None:
    pod["metadata"]["labels"][f"a{number}"] = "v"


def _owner(number: int) -> Body:
    return {"apiVersion": "v1", "kind": "Node", "name": f"n{number}", "uid": f"u{number}"}


def _meta(field: str, item: Callable[[int], Any]) -> Add:
    return lambda pod, number: pod["metadata"].setdefault(field, []).append(item(number))


def _dns_option(pod: Body, number: int) -> None:
    pod["spec"].setdefault("dnsConfig", {}).setdefault("options", []).append({"name": f"o{number}"})


def _selector(pod: Body, number: int) -> None:
    pod["spec"].setdefault("nodeSelector", {})[f"a{number}"] = "v"


def _config_map(number: int) -> Body:
    return {"configMap": {"name": f"c{number}", "optional": True}}


MANY: Mapping[str, Add] = {
    "env": _of_app("env", lambda number: {"name": f"E{number}", "value": "x"}),
    "env that refers": _of_app("env", _env_reference),
    "env of fields": _of_app("env", _env_of_field),
    "env of one ConfigMap": _of_app("env", _env_of_key),
    "envFrom": _of_app("envFrom", lambda number: {"prefix": f"P{number}_", "configMapRef": {"name": CONFIG_MAP}}),
    "args": _of_app("args", lambda number: f"a{number}"),
    "args that refer": _of_app("args", lambda number: f"$(HOSTNAME){number}"),
    "containers": _spec("containers", lambda number: _container(f"c{number}")),
    "containers without image": _spec(
        "containers", lambda number: {**_container(f"c{number}"), "image": "missing", "imagePullPolicy": "Never"}
    ),
    "init containers": _init_container,
    "sidecars": _spec("initContainers", lambda number: {**_init(number), "restartPolicy": "Always"}),
    "ports": _of_app("ports", _port),
    "host ports": _of_app("ports", _host_port),
    "readiness probe headers": _probe("readinessProbe"),
    "liveness probe headers": _probe("livenessProbe"),
    "hook headers": _hook,
    "mounts of one volume": _sub_path,
    "emptyDirs": _volume(lambda _: {"emptyDir": {}}),
    "emptyDirs, mounted": _mounted,
    "host paths": _volume(lambda number: {"hostPath": {"path": f"/p{number}"}}),
    "missing ConfigMaps": _volume(_config_map),
    "paths of a ConfigMap": _config_map_path,
    "projected sources": _projected,
    "paths of downwardAPI": _downward_path,
    "tokens": _token,
    "annotations": _annotation,
    "labels": _label,
    "owners": _meta("ownerReferences", _owner),
    "finalizers": _meta("finalizers", lambda number: f"example.com/f{number}"),
    "tolerations": _spec("tolerations", lambda number: {"key": f"k{number}", "operator": "Exists"}),
    "host aliases": _spec("hostAliases", lambda number: {"ip": "10.0.0.1", "hostnames": [f"h{number}"]}),
    "readiness gates": _spec("readinessGates", lambda number: {"conditionType": f"example.com/g{number}"}),
    "pull secrets": _spec("imagePullSecrets", lambda number: {"name": f"s{number}"}),
    "pod affinity": _affinity,
    "node affinity": _node_affinity,
    "spread constraints": _spec("topologySpreadConstraints", _spread),
    "node selector": _selector,
    "sysctls": _pod_security("sysctls", lambda number: {"name": f"net.ipv4.s{number}", "value": "1"}),
    "groups": _pod_security("supplementalGroups", lambda number: number),
    "capabilities": _capability,
    "resources": _resource,
    "claims": _claim,
    "DNS options": _dns_option,
}
"""By field: what adds one more item to a pod."""


def _text(field: str, value: Callable[[str], Any]) -> Put:
    def put(pod: Body, text: str) -> None:
        _app(pod)[field] = value(text)

    return put


def _long_annotation(pod: Body, text: str) -> None:
    pod["metadata"]["annotations"]["a"] = text[: ANNOTATIONS_BYTES - KIB]


LONG: Mapping[str, Put] = {
    "one env value": _text("env", lambda text: [{"name": "E", "value": text}]),
    "one argument": _text("args", lambda text: [text]),
    "one image name": _text("image", lambda text: text),
    "one annotation": _long_annotation,
    "one probe header": _text(
        "readinessProbe",
        lambda text: {"httpGet": {"port": 80, "httpHeaders": [{"name": "X", "value": text}]}},
    ),
    "one working directory": _text("workingDir", lambda text: "/" + text),
    "one termination path": _text("terminationMessagePath", lambda text: "/" + text),
}
"""By field: what puts a long text into it."""

CONTAINERS = frozenset({"containers", "containers without image", "init containers", "sidecars"})
"""Fields whose items the runtime has to start."""
