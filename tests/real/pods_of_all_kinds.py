"""Pods of many kinds, which run on while the agent of their node changes: see `change_of_agents`.

`STATIC` come from the manifest directory, `OF_API` from the API server. They refer to `SETTINGS` and `HIDDEN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.real.pods import STAY, container, pod

GIVEN = "given-by-the-manifest"
SMALL = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}}
EQUAL = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "10m", "memory": "32Mi"}}
PROBE = {"exec": {"command": ["true"]}, "periodSeconds": 1}
SETTINGS, HIDDEN = {"mode": "quick"}, {"word": "c2VjcmV0"}
"""Data of the ConfigMap `settings` and of the Secret `hidden`."""


def _field(path: str) -> dict[str, Any]:
    return {"fieldRef": {"fieldPath": path}}


STATIC: Mapping[str, dict[str, Any]] = {
    "plain": pod("plain", container(ports=[{"name": "web", "containerPort": 8080}]), labels={"app": "shop"}),
    "side": pod(
        "side",
        container(resources=SMALL),
        initContainers=[container("first", "true"), container("sidecar", restartPolicy="Always", resources=SMALL)],
    ),
    "given": pod("given"),
    "done": pod("done", container(script="exit 0"), restartPolicy="Never"),
    "critical": pod("critical", hostNetwork=True, priorityClassName="system-node-critical"),
}
STATIC["given"]["metadata"]["uid"] = GIVEN

OF_API: Mapping[str, dict[str, Any]] = {
    "web": pod(
        "web",
        container(
            readinessProbe=PROBE,
            livenessProbe=PROBE,
            lifecycle={"preStop": {"exec": {"command": ["echo", "<&>"]}}},
            terminationMessagePath="/dev/other",
            terminationMessagePolicy="FallbackToLogsOnError",
            volumeMounts=[{"name": "own", "mountPath": "/own"}],
        ),
        labels={"app": "shop"},
        volumes=[{"name": "own", "emptyDir": {}}],
    ),
    "sized": pod(
        "sized",
        container(
            resources=SMALL,
            resizePolicy=[{"resourceName": each, "restartPolicy": "RestartContainer"} for each in ("cpu", "memory")],
        ),
        container("second"),
    ),
    "failed": pod("failed", container(script="exit 3"), restartPolicy="Never"),
    "batch": pod("batch", container(script="exit 0"), restartPolicy="OnFailure"),
    "guaranteed": pod("guaranteed", container(resources=EQUAL), container("second", resources=EQUAL)),
    "configured": pod(
        "configured",
        container(
            env=[{"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "word"}}}],
            envFrom=[{"prefix": "OF_", "configMapRef": {"name": "settings"}}],
            volumeMounts=[{"name": "settings", "mountPath": "/settings"}, {"name": "all", "mountPath": "/all"}],
        ),
        volumes=[
            {"name": "settings", "configMap": {"name": "settings"}},
            {"name": "all", "projected": {"sources": [{"secret": {"name": "hidden"}}]}},
        ],
    ),
    "itself": pod(
        "itself",
        container(
            env=[
                {"name": "NAME", "valueFrom": _field("metadata.name")},
                {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
            ],
            resources=SMALL,
            volumeMounts=[{"name": "about", "mountPath": "/about"}],
        ),
        labels={"app": "itself"},
        volumes=[{"name": "about", "downwardAPI": {"items": [{"path": "labels", **_field("metadata.labels")}]}}],
    ),
    "memory": pod(
        "memory",
        container(
            env=[{"name": "WHO", "value": "me"}],
            volumeMounts=[
                {"name": "quick", "mountPath": "/quick"},
                {"name": "quick", "mountPath": "/part", "subPath": "part"},
                {"name": "quick", "mountPath": "/mine", "subPathExpr": "of-$(WHO)"},
            ],
        ),
        volumes=[{"name": "quick", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}],
    ),
    "path": pod(
        "path",
        container(volumeMounts=[{"name": "programs", "mountPath": "/programs", "readOnly": True}]),
        volumes=[{"name": "programs", "hostPath": {"path": "/usr/bin", "type": "Directory"}}],
    ),
    "host": pod("host", hostNetwork=True, hostPID=True, hostIPC=True, dnsPolicy="ClusterFirstWithHostNet"),
    "shared": pod("shared", container(), container("second"), shareProcessNamespace=True),
    "user": pod(
        "user",
        container(
            securityContext={
                "runAsGroup": 1000,
                "runAsNonRoot": True,
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            volumeMounts=[{"name": "own", "mountPath": "/own"}],
        ),
        securityContext={"fsGroup": 777, "supplementalGroups": [778], "runAsUser": 1000},
        volumes=[{"name": "own", "emptyDir": {}}],
    ),
    "named": pod(
        "named",
        hostname="name",
        subdomain="part",
        hostAliases=[{"ip": "192.0.2.1", "hostnames": ["there"]}],
        dnsPolicy="None",
        dnsConfig={
            "nameservers": ["192.0.2.2"],
            "searches": ["there.test"],
            "options": [{"name": "ndots", "value": "2"}],
        },
    ),
    "started": pod(
        "started",
        container(
            startupProbe={**PROBE, "failureThreshold": 30},
            lifecycle={"postStart": {"exec": {"command": ["true"]}}, "preStop": {"sleep": {"seconds": 1}}},
        ),
        container("second", livenessProbe={**PROBE, "terminationGracePeriodSeconds": 3}),
    ),
    "ruled": pod(
        "ruled",
        container(
            restartPolicy="Never",
            restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
        ),
        restartPolicy="Never",
    ),
    "told": pod(
        "told",
        container(
            command=["sh"],
            args=["-c", f"echo $(HELLO) $$(HELLO); {STAY}"],
            env=[{"name": "WHO", "value": "you"}, {"name": "HELLO", "value": "hello $(WHO)"}],
            workingDir="/tmp",
            stdin=True,
            tty=True,
        ),
        terminationGracePeriodSeconds=7,
    ),
}
PODS = {**STATIC, **OF_API}
ENDED = {"done": "Succeeded", "failed": "Failed", "batch": "Succeeded"}
RUNNING = tuple(name for name in PODS if name not in ENDED)
