"""Pods of many kinds that come and go, for tests that disturb the agent meanwhile.

`RESTARTS` are the kinds whose containers end by themselves and are started again. In all others each container begins
once. Probes are patient: they are to be made, and a busy machine is no reason to fail them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from config.api.resources import CONFIG_MAPS, SECRETS
from tests.real.cluster import Cluster
from tests.real.pods import container, pod

_MAP, _SECRET = "churn-map", "churn-secret"
_DOWN = {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}
_OF_THE_NODE: list[dict[str, Any]] = [
    {"name": "own", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    {"name": "down", **_DOWN},
]
_OF_THE_API: list[dict[str, Any]] = [
    {"name": "map", "configMap": {"name": _MAP}},
    {"name": "hidden", "secret": {"secretName": _SECRET}},
    {
        "name": "all",
        "projected": {
            "sources": [
                {"configMap": {"name": _MAP}},
                {"secret": {"name": _SECRET}},
                _DOWN,
                {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
            ]
        },
    },
]
PROBE = {"exec": {"command": ["true"]}, "periodSeconds": 1, "timeoutSeconds": 60, "failureThreshold": 60}
_SLOW = "trap 'sleep 1; exit 0' TERM; sleep 1000000 & wait"
_DEAF = "trap '' TERM; sleep 1000000"


def prepare(cluster: Cluster) -> None:
    """What the pods refer to."""
    cluster.create(CONFIG_MAPS, _MAP, data={"a": "1"})
    cluster.create(SECRETS, _SECRET, data={"key": "dmFsdWU="})


def _mounted(volumes: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]


def plain(name: str) -> dict[str, Any]:
    return pod(name, container(), terminationGracePeriodSeconds=2)


def full(name: str, volumes: list[dict[str, Any]] = _OF_THE_NODE) -> dict[str, Any]:
    """Init container, sidecar, two containers, probes, hooks and volumes; no object of the API."""
    hooks = {"preStop": {"exec": {"command": ["true"]}}, "postStart": {"exec": {"command": ["true"]}}}
    main = container(livenessProbe=PROBE, readinessProbe=PROBE, startupProbe=PROBE, volumeMounts=_mounted(volumes))
    inits = [container("first", "true"), container("sidecar", restartPolicy="Always", startupProbe=PROBE)]
    second = container("second", lifecycle=hooks)
    return pod(name, main, second, initContainers=inits, volumes=volumes, terminationGracePeriodSeconds=3)


def with_api_volumes(name: str) -> dict[str, Any]:
    return full(name, [*_OF_THE_NODE, *_OF_THE_API])


def ends_slowly(name: str) -> dict[str, Any]:
    return pod(name, container(script=_SLOW), container("deaf", _DEAF), terminationGracePeriodSeconds=2)


def completes(name: str) -> dict[str, Any]:
    return pod(name, container(script="sleep 1"), restartPolicy="Never", terminationGracePeriodSeconds=1)


def crashes(name: str) -> dict[str, Any]:
    script = container(script="sleep 1; exit 3")
    return pod(name, script, container("beside"), terminationGracePeriodSeconds=1)


OF_MANIFESTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "plain": plain,
    "full": full,
    "slow": ends_slowly,
    "crashes": crashes,
}
KINDS: dict[str, Callable[[str], dict[str, Any]]] = {
    **OF_MANIFESTS,
    "volumes": with_api_volumes,
    "completes": completes,
}
RESTARTS = {("crashes", "main")}
"""Kind and container."""
