"""The pods of a soak: kinds that use every part of an agent.

They are drawn by chance, each with the seconds that it lives.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from benchmarks.live_node import IMAGE, NODE
from config.documents.codec import from_builtins
from config.objects import Pod

SHORTEST_S, LONGEST_S = 20.0, 80.0
GRACE_S = 2
MAP, SECRET = "soak-map", "soak-secret"
_KNOB = "simulated.actorlet.dev"
_VOLUMES: list[dict[str, Any]] = [
    {"name": "own", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    {"name": "map", "configMap": {"name": MAP}},
    {"name": "hidden", "secret": {"secretName": SECRET}},
    {
        "name": "all",
        "projected": {
            "sources": [
                {"configMap": {"name": MAP}},
                {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
            ]
        },
    },
]


def _container(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": IMAGE, "imagePullPolicy": "IfNotPresent", **fields}


def _plain() -> dict[str, Any]:
    return {"containers": [_container()]}


def _with_volumes() -> dict[str, Any]:
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in _VOLUMES]
    reference = {"configMapKeyRef": {"name": MAP, "key": "a"}}
    main = _container(volumeMounts=mounts, env=[{"name": "A", "valueFrom": reference}])
    return {"containers": [main], "volumes": _VOLUMES}


def _probed() -> dict[str, Any]:
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    main = _container(livenessProbe=probe, readinessProbe={**probe, "periodSeconds": 2}, startupProbe=probe)
    return {"containers": [main]}


def _many_containers() -> dict[str, Any]:
    quick = {"exec": {"command": ["true"]}}
    hook: dict[str, Any] = {"lifecycle": {"postStart": quick, "preStop": quick}}
    inits = [_container("first"), _container("sidecar", restartPolicy="Always")]
    knobs = {f"{_KNOB}/run-for.first": "1s", f"{_KNOB}/exit-code.first": "1,0"}
    return {"initContainers": inits, "containers": [_container(**hook), _container("second")], "knobs": knobs}


def _crashes() -> dict[str, Any]:
    return {"containers": [_container()], "knobs": {f"{_KNOB}/run-for": "3s", f"{_KNOB}/exit-code": "1"}}


def _completes() -> dict[str, Any]:
    return {"containers": [_container()], "restartPolicy": "Never", "knobs": {f"{_KNOB}/run-for": "10s"}}


def _stubborn() -> dict[str, Any]:
    return {"containers": [_container()], "knobs": {f"{_KNOB}/ignore-stop-signal": "true"}}


def _fails_its_probe() -> dict[str, Any]:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 2, "failureThreshold": 2}
    return {"containers": [_container(livenessProbe=probe)], "knobs": {f"{_KNOB}/exec-exit-code": "1"}}


def _lacks_a_secret() -> dict[str, Any]:
    return {"containers": [_container()], "volumes": [{"name": "none", "secret": {"secretName": "nowhere"}}]}


def _refused_by_the_runtime() -> dict[str, Any]:
    return {"containers": [_container()], "knobs": {f"{_KNOB}/fail": "StartContainer*2"}}


KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": _plain,
    "volumes": _with_volumes,
    "probed": _probed,
    "containers": _many_containers,
    "crashes": _crashes,
    "completes": _completes,
    "stubborn": _stubborn,
    "unhealthy": _fails_its_probe,
    "waits": _lacks_a_secret,
    "refused": _refused_by_the_runtime,
}


def pod(kind: str, name: str) -> Pod:
    """Bound to the node."""
    spec = KINDS[kind]()
    metadata = {"name": name, "namespace": "default", "annotations": spec.pop("knobs", {})}
    own = {"nodeName": NODE, "terminationGracePeriodSeconds": GRACE_S, "automountServiceAccountToken": False}
    return from_builtins({"metadata": metadata, "spec": {**own, **spec}}, Pod)


def drawn(chance: Random, number: int) -> tuple[Pod, float]:
    """One more pod, and how many seconds it is to live."""
    kind = chance.choice(list(KINDS))
    return pod(kind, f"{kind}-{number}"), chance.uniform(SHORTEST_S, LONGEST_S)
