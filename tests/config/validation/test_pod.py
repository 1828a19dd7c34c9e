"""What the API server would refuse is refused, with the place of every fault."""

from typing import Any

import pytest

from config.documents.codec import from_builtins
from config.objects import Pod
from config.pods.defaults import default_pod
from config.validation.pod import validate_pod
from config.values.name_rules import (
    config_key,
    dns_label,
    dns_subdomain,
    environment_name,
    label_value,
    port_name,
    qualified_name,
)

APP = {"name": "app", "image": "nginx:1"}
DATA = {"name": "data", "emptyDir": {}}
RESTARTING = {"resourceName": "memory", "restartPolicy": "RestartContainer"}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


def faults(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, str]:
    """path -> reason of every fault of a pod that is good but for what is given."""
    document = {
        "metadata": {"name": "web", "namespace": "default", **(metadata or {})},
        "spec": {"containers": [APP], **spec},
    }
    return {fault.path: fault.reason for fault in validate_pod(default_pod(from_builtins(document, Pod)))}


def container_faults(**fields: Any) -> dict[str, str]:
    """The same for its only container, with paths below it, in a pod that has a volume `data`."""
    found = faults(containers=[{**APP, **fields}], volumes=[DATA])
    assert all(path.startswith("$.spec.containers[0]") for path in found), found
    return {path.removeprefix("$.spec.containers[0]"): reason for path, reason in found.items()}


def volume_faults(**source: Any) -> dict[str, str]:
    found = faults(volumes=[{"name": "v", **source}])
    return {path.removeprefix("$.spec.volumes[0]"): reason for path, reason in found.items()}


GOOD_CONTAINERS: list[dict[str, Any]] = [
    {},
    {"ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 80, "protocol": "UDP"}]},
    {
        "env": [
            {"name": "A.b-c", "value": "x"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}},
        ]
    },
    {"env": [{"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}]},
    {"volumeMounts": [{"name": "data", "mountPath": "/a", "subPath": "b/c"}, {"name": "data", "mountPath": "/d"}]},
    {"volumeMounts": [{"name": "data", "mountPath": "/a", "readOnly": True, "recursiveReadOnly": "Enabled"}]},
    {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1000m", "memory": "1Gi", "vendor.org/gpu": 1}}},
    {"livenessProbe": {"grpc": {"port": 9000}}, "lifecycle": {"preStop": {"sleep": {"seconds": 30}}}},
    {"securityContext": {"runAsUser": 0, "seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"}}},
    {
        "restartPolicy": "Never",
        "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}}],
    },
    {
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "data", "mountPath": "/a", "mountPropagation": "Bidirectional"}],
    },
]


@pytest.mark.parametrize("fields", GOOD_CONTAINERS)
def test_a_good_container_has_no_faults(fields: dict[str, Any]) -> None:
    assert container_faults(**fields) == {}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"name": ""}, ".name"),
        ({"name": "App"}, ".name"),
        ({"name": "a" * 64}, ".name"),
        ({"image": ""}, ".image"),
        ({"image": " nginx"}, ".image"),
        ({"imagePullPolicy": "Sometimes"}, ".imagePullPolicy"),
        ({"terminationMessagePolicy": "Loud"}, ".terminationMessagePolicy"),
        ({"restartPolicy": "Sometimes"}, ".restartPolicy"),
        ({"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In"}}]}, ".restartPolicy"),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Dance", "exitCodes": {"operator": "In"}}]},
            ".restartPolicyRules[0].action",
        ),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]}, ".restartPolicyRules[0].exitCodes"),
        ({"ports": [{"containerPort": 0}]}, ".ports[0].containerPort"),
        ({"ports": [{"containerPort": 65536}]}, ".ports[0].containerPort"),
        ({"ports": [{"containerPort": 1, "hostPort": 70000}]}, ".ports[0].hostPort"),
        ({"ports": [{"containerPort": 1, "hostIP": "here"}]}, ".ports[0].hostIP"),
        ({"ports": [{"containerPort": 1, "protocol": "ICMP"}]}, ".ports[0].protocol"),
        ({"ports": [{"containerPort": 1, "name": "a-very-long-name"}]}, ".ports[0].name"),
        ({"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]}, ".ports[1].name"),
        ({"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]}, ".ports[1].hostPort"),
        ({"env": [{"name": ""}]}, ".env[0].name"),
        ({"env": [{"name": "A=B"}]}, ".env[0].name"),
        ({"env": [{"name": "A", "valueFrom": {}}]}, ".env[0].valueFrom"),
        (
            {"env": [{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            ".env[0].valueFrom",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.color"}}}]},
            ".env[0].valueFrom.fieldRef.fieldPath",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]},
            ".env[0].valueFrom.fieldRef.fieldPath",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "cpu"}}}]},
            ".env[0].valueFrom.resourceFieldRef.resource",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a/b"}}}]},
            ".env[0].valueFrom.secretKeyRef.key",
        ),
        ({"envFrom": [{}]}, ".envFrom[0]"),
        ({"envFrom": [{"configMapRef": {}}]}, ".envFrom[0].configMapRef.name"),
        ({"volumeMounts": [{"name": "dta", "mountPath": "/a"}]}, ".volumeMounts[0].name"),
        ({"volumeMounts": [{"name": "data"}]}, ".volumeMounts[0].mountPath"),
        (
            {"volumeMounts": [{"name": "data", "mountPath": "/a"}, {"name": "data", "mountPath": "/a"}]},
            ".volumeMounts[1].mountPath",
        ),
        ({"volumeMounts": [{"name": "data", "mountPath": "/a", "subPath": "../b"}]}, ".volumeMounts[0].subPath"),
        ({"volumeMounts": [{"name": "data", "mountPath": "/a", "subPath": "/b"}]}, ".volumeMounts[0].subPath"),
        (
            {"volumeMounts": [{"name": "data", "mountPath": "/a", "subPath": "b", "subPathExpr": "c"}]},
            ".volumeMounts[0].subPathExpr",
        ),
        (
            {"volumeMounts": [{"name": "data", "mountPath": "/a", "mountPropagation": "Bidirectional"}]},
            ".volumeMounts[0].mountPropagation",
        ),
        (
            {"volumeMounts": [{"name": "data", "mountPath": "/a", "recursiveReadOnly": "Enabled"}]},
            ".volumeMounts[0].recursiveReadOnly",
        ),
        ({"volumeDevices": [{"name": "data", "devicePath": "/dev/x"}]}, ".volumeDevices[0].name"),
        ({"resources": {"requests": {"cpu": "many"}}}, ".resources.requests.cpu"),
        ({"resources": {"requests": {"cpu": "-1"}}}, ".resources.requests.cpu"),
        ({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}, ".resources.requests.cpu"),
        ({"resources": {"requests": {"disk": "1"}}}, ".resources.requests.disk"),
        ({"resources": {"requests": {"vendor.org/gpu": 1}}}, '.resources.requests["vendor.org/gpu"]'),
        ({"resources": {"claims": [{"name": "gpu"}]}}, ".resources.claims[0].name"),
        ({"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}, ".resources.limits.hugepages-2Mi"),
        ({"livenessProbe": {}}, ".livenessProbe"),
        ({"livenessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}}, ".livenessProbe.tcpSocket"),
        ({"livenessProbe": {"exec": {}}}, ".livenessProbe.exec.command"),
        ({"livenessProbe": {"httpGet": {}}}, ".livenessProbe.httpGet.port"),
        ({"livenessProbe": {"httpGet": {"port": "Http"}}}, ".livenessProbe.httpGet.port"),
        ({"livenessProbe": {"httpGet": {"port": 0}}}, ".livenessProbe.httpGet.port"),
        ({"livenessProbe": {"httpGet": {"port": 1, "scheme": "FTP"}}}, ".livenessProbe.httpGet.scheme"),
        (
            {"livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"name": "a b"}]}}},
            ".livenessProbe.httpGet.httpHeaders[0].name",
        ),
        ({"livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}}, ".livenessProbe.successThreshold"),
        ({"livenessProbe": {"tcpSocket": {"port": 1}, "periodSeconds": -1}}, ".livenessProbe.periodSeconds"),
        (
            {"readinessProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 5}},
            ".readinessProbe.terminationGracePeriodSeconds",
        ),
        ({"lifecycle": {"postStart": {}}}, ".lifecycle.postStart"),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}, ".lifecycle.preStop.sleep.seconds"),
        ({"lifecycle": {"stopSignal": "SIGUSR1"}}, ".lifecycle.stopSignal"),
        ({"securityContext": {"runAsUser": -1}}, ".securityContext.runAsUser"),
        ({"securityContext": {"procMount": "Unmasked"}}, ".securityContext.procMount"),
        (
            {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
            ".securityContext.allowPrivilegeEscalation",
        ),
        (
            {"securityContext": {"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": False}},
            ".securityContext.allowPrivilegeEscalation",
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
            ".securityContext.seccompProfile.localhostProfile",
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "../x"}}},
            ".securityContext.seccompProfile.localhostProfile",
        ),
        (
            {"securityContext": {"appArmorProfile": {"type": "Unconfined", "localhostProfile": "x"}}},
            ".securityContext.appArmorProfile.localhostProfile",
        ),
        ({"resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}]}, ".resizePolicy[0].resourceName"),
    ],
)
def test_a_faulty_container_is_refused_at_its_place(fields: dict[str, Any], path: str) -> None:
    assert list(container_faults(**fields)) == [path]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"containers": []}, "$.spec.containers"),
        ({"containers": [APP, APP]}, "$.spec.containers[1].name"),
        ({"initContainers": [APP]}, "$.spec.containers[0].name"),
        ({"restartPolicy": "Sometimes"}, "$.spec.restartPolicy"),
        ({"dnsPolicy": "Mine"}, "$.spec.dnsPolicy"),
        ({"dnsPolicy": "None"}, "$.spec.dnsConfig.nameservers"),
        ({"dnsConfig": {"nameservers": ["x"]}}, "$.spec.dnsConfig.nameservers[0]"),
        ({"dnsConfig": {"nameservers": ["1.1.1.1"] * 4}}, "$.spec.dnsConfig.nameservers"),
        ({"dnsConfig": {"searches": ["a!b"]}}, "$.spec.dnsConfig.searches[0]"),
        ({"dnsConfig": {"searches": ["__a"]}}, "$.spec.dnsConfig.searches[0]"),
        ({"dnsConfig": {"searches": ["a_"]}}, "$.spec.dnsConfig.searches[0]"),
        (
            {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {"runAsUserName": "x"}}},
            "$.spec.securityContext.windowsOptions",
        ),
        (
            {"os": {"name": "linux"}, "containers": [{**APP, "securityContext": {"windowsOptions": {}}}]},
            "$.spec.containers[0].securityContext.windowsOptions",
        ),
        (
            {"restartPolicy": "Never", "containers": [{**APP, "resizePolicy": [RESTARTING]}]},
            "$.spec.containers[0].resizePolicy[0].restartPolicy",
        ),
        ({"topologySpreadConstraints": [SPREAD, SPREAD]}, "$.spec.topologySpreadConstraints[1].topologyKey"),
        ({"topologySpreadConstraints": [{**SPREAD, "maxSkew": 0}]}, "$.spec.topologySpreadConstraints[0].maxSkew"),
        (
            {"topologySpreadConstraints": [{**SPREAD, "minDomains": 1}]},
            "$.spec.topologySpreadConstraints[0].minDomains",
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "topologyKey": ""}]},
            "$.spec.topologySpreadConstraints[0].topologyKey",
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "Odd"}]},
            "$.spec.topologySpreadConstraints[0].whenUnsatisfiable",
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "nodeTaintsPolicy": "Odd"}]},
            "$.spec.topologySpreadConstraints[0].nodeTaintsPolicy",
        ),
        ({"dnsConfig": {"options": [{"value": "x"}]}}, "$.spec.dnsConfig.options[0].name"),
        ({"os": {"name": "plan9"}}, "$.spec.os.name"),
        ({"terminationGracePeriodSeconds": -1}, "$.spec.terminationGracePeriodSeconds"),
        ({"activeDeadlineSeconds": 0}, "$.spec.activeDeadlineSeconds"),
        ({"hostname": "a.b"}, "$.spec.hostname"),
        ({"subdomain": "A"}, "$.spec.subdomain"),
        ({"nodeSelector": {"a b": "c"}}, '$.spec.nodeSelector["a b"]'),
        ({"hostAliases": [{"ip": "x", "hostnames": ["a"]}]}, "$.spec.hostAliases[0].ip"),
        ({"hostAliases": [{"ip": "::1", "hostnames": ["a_b"]}]}, "$.spec.hostAliases[0].hostnames[0]"),
        ({"tolerations": [{"operator": "Like", "key": "a"}]}, "$.spec.tolerations[0].operator"),
        ({"tolerations": [{"operator": "Equal"}]}, "$.spec.tolerations[0].operator"),
        ({"tolerations": [{"operator": "Exists", "value": "x"}]}, "$.spec.tolerations[0].value"),
        ({"tolerations": [{"key": "a", "effect": "Never"}]}, "$.spec.tolerations[0].effect"),
        (
            {"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 3}]},
            "$.spec.tolerations[0].effect",
        ),
        ({"hostPID": True, "shareProcessNamespace": True}, "$.spec.shareProcessNamespace"),
        ({"hostUsers": False, "hostNetwork": True}, "$.spec.hostNetwork"),
        ({"securityContext": {"sysctls": [{"name": "a b", "value": "1"}]}}, "$.spec.securityContext.sysctls[0].name"),
        (
            {"securityContext": {"sysctls": [{"name": "net.a", "value": "1"}, {"name": "net/a", "value": "1"}]}},
            "$.spec.securityContext.sysctls[1].name",
        ),
        (
            {"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.a", "value": "1"}]}},
            "$.spec.securityContext.sysctls[0].name",
        ),
        ({"securityContext": {"fsGroupChangePolicy": "Never"}}, "$.spec.securityContext.fsGroupChangePolicy"),
        ({"overhead": {"cpu": "x"}}, "$.spec.overhead.cpu"),
        (
            {"resources": {"limits": {"ephemeral-storage": "1Gi"}, "requests": {"ephemeral-storage": "1Gi"}}},
            "$.spec.resources.limits.ephemeral-storage",
        ),
        ({"schedulingGates": [{"name": "a"}], "nodeName": "n"}, "$.spec.nodeName"),
        ({"resourceClaims": [{"name": "a"}]}, "$.spec.resourceClaims[0]"),
        ({"imagePullSecrets": [{}]}, "$.spec.imagePullSecrets[0].name"),
        (
            {"hostNetwork": True, "containers": [{**APP, "ports": [{"containerPort": 80, "hostPort": 81}]}]},
            "$.spec.containers[0].ports[0].hostPort",
        ),
        (
            {"initContainers": [{**APP, "name": "i", "livenessProbe": {"tcpSocket": {"port": 1}}}]},
            "$.spec.initContainers[0].livenessProbe",
        ),
        (
            {"initContainers": [{**APP, "name": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}]},
            "$.spec.initContainers[0].lifecycle",
        ),
        (
            {"ephemeralContainers": [{"name": "d", "image": "i", "ports": [{"containerPort": 1}]}]},
            "$.spec.ephemeralContainers[0].ports",
        ),
        (
            {"ephemeralContainers": [{"name": "d", "image": "i", "targetContainerName": "x"}]},
            "$.spec.ephemeralContainers[0].targetContainerName",
        ),
    ],
)
def test_a_faulty_pod_is_refused_at_its_place(spec: dict[str, Any], path: str) -> None:
    assert path in faults(**spec)
    assert len(faults(**spec)) <= 2


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({"name": ""}, "$.metadata.name"),
        ({"name": "Web"}, "$.metadata.name"),
        ({"name": "a" * 254}, "$.metadata.name"),
        ({"namespace": "a.b"}, "$.metadata.namespace"),
        ({"labels": {"-a": "b"}}, "$.metadata.labels.-a"),
        ({"labels": {"a": "b!"}}, "$.metadata.labels.a"),
        ({"labels": {"a": "b" * 64}}, "$.metadata.labels.a"),
        ({"annotations": {"a b": "c"}}, '$.metadata.annotations["a b"]'),
        ({"annotations": {"a": "b" * 270_000}}, "$.metadata.annotations"),
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n"}]}, "$.metadata.ownerReferences[0].uid"),
    ],
)
def test_faulty_metadata_is_refused_at_its_place(metadata: dict[str, Any], path: str) -> None:
    assert list(faults(metadata)) == [path]


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ({"emptyDir": {}, "hostPath": {"path": "/a"}}, ".hostPath"),
        ({"emptyDir": {"medium": "Tape"}}, ".emptyDir.medium"),
        ({"emptyDir": {"sizeLimit": "-1Gi"}}, ".emptyDir.sizeLimit"),
        ({"hostPath": {}}, ".hostPath.path"),
        ({"hostPath": {"path": "/a/../b"}}, ".hostPath.path"),
        ({"hostPath": {"path": "/a", "type": "Folder"}}, ".hostPath.type"),
        ({"secret": {}}, ".secret.secretName"),
        ({"secret": {"secretName": "s", "defaultMode": 0o1777}}, ".secret.defaultMode"),
        ({"configMap": {}}, ".configMap.name"),
        ({"configMap": {"name": "c", "items": [{"key": "k", "path": "../x"}]}}, ".configMap.items[0].path"),
        ({"configMap": {"name": "c", "items": [{"key": "a/b", "path": "x"}]}}, ".configMap.items[0].key"),
        ({"nfs": {"server": "s", "path": "a"}}, ".nfs.path"),
        ({"nfs": {"server": "--fstab=/evil", "path": "/a"}}, ".nfs.server"),
        ({"nfs": {"server": "fe80::1%-o bind", "path": "/a"}}, ".nfs.server"),
        ({"persistentVolumeClaim": {}}, ".persistentVolumeClaim.claimName"),
        ({"image": {"reference": "a", "pullPolicy": "No"}}, ".image.pullPolicy"),
        ({"downwardAPI": {"items": [{"path": "x"}]}}, ".downwardAPI.items[0]"),
        (
            {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "spec.nodeName"}}]}},
            ".downwardAPI.items[0].fieldRef.fieldPath",
        ),
        (
            {"downwardAPI": {"items": [{"path": "x", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
            ".downwardAPI.items[0].resourceFieldRef.containerName",
        ),
        ({"projected": {"sources": [{}]}}, ".projected.sources[0]"),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 5}}]}},
            ".projected.sources[0].serviceAccountToken.expirationSeconds",
        ),
        (
            {
                "projected": {
                    "sources": [{"serviceAccountToken": {"path": "t"}}, {"serviceAccountToken": {"path": "t"}}]
                }
            },
            ".projected.sources[1].serviceAccountToken.path",
        ),
        (
            {"projected": {"sources": [{"clusterTrustBundle": {"path": "t"}}]}},
            ".projected.sources[0].clusterTrustBundle",
        ),
        (
            {"projected": {"sources": [{"podCertificate": {"signerName": "a/b", "keyType": "DSA", "keyPath": "k"}}]}},
            ".projected.sources[0].podCertificate.keyType",
        ),
        (
            {"projected": {"sources": [{"podCertificate": {"signerName": "a/b", "keyType": "ED25519"}}]}},
            ".projected.sources[0].podCertificate",
        ),
        ({"ephemeral": {}}, ".ephemeral.volumeClaimTemplate"),
        ({"csi": {"driver": "a_b"}}, ".csi.driver"),
    ],
)
def test_a_faulty_volume_is_refused_at_its_place(source: dict[str, Any], path: str) -> None:
    assert list(volume_faults(**source)) == [path]


def test_volume_names_are_unique_labels() -> None:
    assert list(faults(volumes=[DATA, DATA])) == ["$.spec.volumes[1].name"]
    assert list(faults(volumes=[{"name": "A", "emptyDir": {}}])) == ["$.spec.volumes[0].name"]


def test_what_upstream_takes_is_taken() -> None:
    confined = {"capabilities": {"add": ["SYS_ADMIN"]}, "allowPrivilegeEscalation": False}
    assert container_faults(securityContext=confined) == {}
    assert faults(dnsConfig={"searches": ["_tcp.example.com", "a_b.", "."]}) == {}
    assert faults(topologySpreadConstraints=[SPREAD, {**SPREAD, "whenUnsatisfiable": "DoNotSchedule"}]) == {}


def test_a_sidecar_may_be_probed_and_have_hooks() -> None:
    sidecar = {
        **APP,
        "name": "side",
        "restartPolicy": "Always",
        "startupProbe": {"tcpSocket": {"port": 1}},
        "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
    }
    assert faults(initContainers=[sidecar]) == {}


def test_a_stop_signal_is_good_where_the_system_is_said() -> None:
    signalled = {**APP, "lifecycle": {"stopSignal": "SIGUSR1"}}
    assert faults(os={"name": "linux"}, containers=[signalled]) == {}
    assert list(faults(os={"name": "windows"}, containers=[signalled])) == ["$.spec.containers[0].lifecycle.stopSignal"]


def test_every_fault_is_told_with_a_remedy_where_there_is_one() -> None:
    document = {
        "metadata": {"name": "Web", "namespace": "d"},
        "spec": {"containers": [{"name": "a"}], "dnsPolicy": "x"},
    }
    found = validate_pod(default_pod(from_builtins(document, Pod)), at="$.items[3]")
    assert [fault.path for fault in found] == [
        "$.items[3].metadata.name",
        "$.items[3].spec.dnsPolicy",
        "$.items[3].spec.containers[0].image",
    ]
    assert all(fault.hint for fault in found)


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (dns_label, ["a", "a-1", "1", "a" * 63], ["", "-a", "a-", "A", "a.b", "a" * 64, "a\n"]),
        (dns_subdomain, ["a", "a.b-c.d"], ["", ".a", "a..b", "a_b", "a" * 254]),
        (qualified_name, ["a", "A.b_c-d", "a.b/C"], ["", "/a", "a/", "a/b/c", "A/b", "a" * 64]),
        (label_value, ["", "a", "A_b.c-d"], ["-", "a ", "a" * 64]),
        (environment_name, ["A", "a.b-c", "1", "a b"], ["", "=", "A=B", "\u00e9"]),
        (port_name, ["a", "http-2"], ["", "1", "a--b", "-a", "A", "a" * 16]),
        (config_key, ["a", "A.b_c-d", ".a"], ["", ".", "..", "..a", "a/b"]),
    ],
)
def test_spelling(rule: Any, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if rule(text) is not None] == []
    assert [text for text in bad if rule(text) is None] == []


def test_an_ephemeral_container_may_have_resources_that_say_nothing() -> None:
    empty = {"name": "d", "image": "i", "resources": {}}
    assert not faults(ephemeralContainers=[empty])
    asking = {**empty, "resources": {"limits": {"cpu": "1"}}}
    assert "$.spec.ephemeralContainers[0].resources" in faults(ephemeralContainers=[asking])
