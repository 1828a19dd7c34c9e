"""Pods that are large in one field: by a long text, or by many short ones.

No two have a text in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.simulation.node.worlds import container


class Texts:
    """Texts of a few letters and digits that all have the mark and differ from each other."""

    def __init__(self, mark: str, length: int) -> None:
        self.mark = mark
        self.length = length
        self._made = 0

    def of(self, length: int) -> str:
        self._made += 1
        return f"x{self._made}{self.mark}".ljust(length, "a")

    def long(self) -> str:
        return self.of(self.length)

    def many(self, length: int = 60) -> tuple[str, ...]:
        """Short ones that have the whole length together."""
        return tuple(self.of(length) for _ in range(self.length // length))


Spec = Mapping[str, Any]


def app(**fields: Any) -> Spec:
    return {"containers": [container(**fields)]}


def volume(mount: Spec | None = None, **source: Any) -> Spec:
    mounts = [] if mount is None else [{"name": "v", **mount}]
    return {"volumes": [{"name": "v", **source}], **app(volumeMounts=mounts)}


def asks(probe: str, **how: Any) -> Spec:
    return app(**{probe: {**how, "periodSeconds": 1}})


def http(**fields: Any) -> Spec:
    return {"httpGet": {"port": 80, "path": "/", **fields}}


def projected(**source: Any) -> Spec:
    return volume(projected={"sources": [source]})


FIELDS: Mapping[str, Callable[[Texts], Spec]] = {
    # containers
    "image": lambda t: app(image=t.long()),
    "invalid image": lambda t: app(image=f"UPPER{t.long()}"),
    "many containers": lambda t: {
        "containers": [container(f"c{i}", f"{each}/{each}:{each}") for i, each in enumerate(t.many()[:100])]
    },
    "command": lambda t: app(command=["a", t.long()], args=[t.of(100)]),
    "workingDir": lambda t: app(workingDir=f"/{t.long()}"),
    "init container": lambda t: {"initContainers": [container("i", command=[t.long()], restartPolicy="Always")]},
    "env": lambda t: app(env=[{"name": "A", "value": t.long()}]),
    "name of env": lambda t: app(env=[{"name": t.long(), "value": "1"}]),
    "many env": lambda t: app(env=[{"name": f"A{each}", "value": each} for each in t.many()]),
    "env of objects": lambda t: app(
        env=[
            {"name": f"A{i}", "valueFrom": {"configMapKeyRef": {"name": each, "key": each, "optional": True}}}
            for i, each in enumerate(t.many())
        ]
    ),
    "envFrom": lambda t: app(envFrom=[{"configMapRef": {"name": each, "optional": True}} for each in t.many()]),
    "envFrom secrets": lambda t: app(envFrom=[{"secretRef": {"name": each, "optional": True}} for each in t.many()]),
    "termination message path": lambda t: app(terminationMessagePath=f"/{t.long()}"),
    "capability": lambda t: app(securityContext={"capabilities": {"add": [t.long()]}}),
    "capabilities": lambda t: app(securityContext={"capabilities": {"add": list(t.many())}}),
    "ports": lambda t: app(ports=[{"name": each[:15], "containerPort": i} for i, each in enumerate(t.many(), 1)]),
    "devices": lambda t: app(resources={"limits": {f"a.example/{each}": "1" for each in t.many()}}),
    # probes and hooks
    "header": lambda t: asks("livenessProbe", **http(httpHeaders=[{"name": "X-A", "value": t.long()}])),
    "name of header": lambda t: asks("livenessProbe", **http(httpHeaders=[{"name": t.long(), "value": "1"}])),
    "headers": lambda t: asks(
        "readinessProbe", **http(httpHeaders=[{"name": each, "value": each} for each in t.many()])
    ),
    "path of probe": lambda t: asks("livenessProbe", **http(path=f"/{t.long()}")),
    "host of probe": lambda t: asks("readinessProbe", **http(host=t.long())),
    "host of tcp probe": lambda t: asks("readinessProbe", tcpSocket={"port": 80, "host": t.long()}),
    "command of probe": lambda t: asks("livenessProbe", exec={"command": [t.long()]}),
    "service of probe": lambda t: asks("livenessProbe", grpc={"port": 80, "service": t.long()}),
    "path of hook": lambda t: app(lifecycle={"postStart": http(path=f"/{t.long()}")}),
    "command of hook": lambda t: app(lifecycle={"postStart": {"exec": {"command": [t.long()]}}}),
    "header of hook": lambda t: app(lifecycle={"preStop": http(httpHeaders=[{"name": "a", "value": t.long()}])}),
    # the pod
    "annotation": lambda t: {"annotations": {"a": t.long()}},
    "annotations": lambda t: {"annotations": {each: each for each in t.many()}},
    "labels": lambda t: {"labels": {each: each for each in t.many()}},
    "hostAliases": lambda t: {"hostAliases": [{"ip": "10.9.8.7", "hostnames": list(t.many())}]},
    "hostname": lambda t: {"hostname": t.of(60), "subdomain": t.of(60)},
    "option of dns": lambda t: {"dnsConfig": {"options": [{"name": "a", "value": t.long()}]}},
    "options of dns": lambda t: {"dnsConfig": {"options": [{"name": each, "value": each} for each in t.many()]}},
    "searches of dns": lambda t: {"dnsConfig": {"searches": list(t.many()[:30])}},
    "pull secret": lambda t: {"imagePullSecrets": [{"name": t.long()}]},
    "pull secrets": lambda t: {"imagePullSecrets": [{"name": each} for each in t.many()]},
    "nodeSelector": lambda t: {"nodeSelector": {each: each for each in t.many()}},
    "affinity": lambda t: {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": list(t.many())}]}
                    ]
                }
            }
        }
    },
    "tolerations": lambda t: {"tolerations": [{"key": each, "operator": "Equal", "value": each} for each in t.many()]},
    "readinessGates": lambda t: {"readinessGates": [{"conditionType": each} for each in t.many()]},
    "sysctl": lambda t: {"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": t.long()}]}},
    "sysctls": lambda t: {"securityContext": {"sysctls": [{"name": f"net.{each}", "value": "1"} for each in t.many()]}},
    "seLinux": lambda t: {"securityContext": {"seLinuxOptions": {"user": t.long()}}},
    "seccomp": lambda t: {"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": t.long()}}},
    "resource claim": lambda t: {"resourceClaims": [{"name": "c", "resourceClaimName": t.of(200)}]},
    "runtime class": lambda t: {"runtimeClassName": t.of(200)},
    "termination message": lambda t: {
        "restartPolicy": "Never",
        "annotations": {
            "simulated.actorlet.dev/run-for": "2s",
            "simulated.actorlet.dev/termination-message": t.of(4000),
        },
    },
    "unknown field": lambda t: {"future": t.long()},
    # volumes
    "hostPath": lambda t: volume({"mountPath": "/v"}, hostPath={"path": f"/{t.long()}"}),
    "emptyDirs": lambda t: {"volumes": [{"name": each, "emptyDir": {}} for each in t.many()[:100]]},
    "mountPath": lambda t: volume({"mountPath": f"/{t.long()}"}, emptyDir={}),
    "subPath": lambda t: volume({"mountPath": "/v", "subPath": t.long()}, emptyDir={}),
    "subPathExpr": lambda t: volume({"mountPath": "/v", "subPathExpr": t.long()}, emptyDir={}),
    "config map": lambda t: volume(configMap={"name": t.long(), "optional": True}),
    "missing config map": lambda t: volume({"mountPath": "/v"}, configMap={"name": t.long()}),
    "items of config map": lambda t: volume(
        configMap={"name": "x", "optional": True, "items": [{"key": each, "path": each} for each in t.many()]}
    ),
    "secret": lambda t: volume(secret={"secretName": t.long(), "optional": True}),
    "path of downwardAPI": lambda t: volume(
        downwardAPI={"items": [{"path": t.long(), "fieldRef": {"fieldPath": "metadata.name"}}]}
    ),
    "annotation in a volume": lambda t: {
        **volume(downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.annotations"}}]}),
        "annotations": {"a": t.long()},
    },
    "audience of token": lambda t: projected(serviceAccountToken={"path": "t", "audience": t.long()}),
    "audiences of tokens": lambda t: volume(
        projected={"sources": [{"serviceAccountToken": {"path": each, "audience": each}} for each in t.many()[:50]]}
    ),
    "path of token": lambda t: projected(serviceAccountToken={"path": t.long()}),
    "nfs": lambda t: volume({"mountPath": "/v"}, nfs={"server": "nfs.example.com", "path": f"/{t.long()}"}),
    "iscsi": lambda t: volume(
        {"mountPath": "/v"}, iscsi={"targetPortal": t.long(), "iqn": "iqn.2001-04.com.example:disk", "lun": 0}
    ),
    "csi": lambda t: volume({"mountPath": "/v"}, csi={"driver": "a.b.c", "volumeAttributes": {"a": t.long()}}),
    "flexVolume": lambda t: volume({"mountPath": "/v"}, flexVolume={"driver": "a/b", "options": {"a": t.long()}}),
    "image volume": lambda t: volume({"mountPath": "/v"}, image={"reference": t.long()}),
    "claim": lambda t: volume({"mountPath": "/v"}, persistentVolumeClaim={"claimName": t.long()}),
}
"""By the name of the field: the rest of a pod's spec, with `annotations` and `labels` of its metadata."""
