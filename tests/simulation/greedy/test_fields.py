"""Every field of a pod that can grow is found in the types, wherever it is."""

from __future__ import annotations

import pytest
from msgspec import inspect as types

from simulation.greedy.fields import greedy_fields, type_at


@pytest.mark.parametrize(
    "field",
    [
        "metadata.annotations{*}",
        "metadata.annotations{}=*",
        "metadata.labels{*}",
        "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[*]",
        "spec.containers[*]",
        "spec.containers[*].livenessProbe.exec",
        "spec.containers[].args[*]",
        "spec.containers[].args[]=*",
        "spec.containers[].env[*]",
        "spec.containers[].env[*].valueFrom.secretKeyRef",
        "spec.containers[].envFrom[*].configMapRef",
        "spec.containers[].image=*",
        "spec.containers[].lifecycle.preStop.exec.command[*]",
        "spec.containers[].ports[*]",
        "spec.containers[].readinessProbe.httpGet.httpHeaders[].value=*",
        "spec.containers[].volumeDevices[*]",
        "spec.containers[].volumeMounts[*]",
        "spec.dnsConfig.options[*]",
        "spec.ephemeralContainers[*]",
        "spec.hostAliases[*]",
        "spec.imagePullSecrets[*]",
        "spec.initContainers[*]",
        "spec.readinessGates[*]",
        "spec.schedulingGates[*]",
        "spec.securityContext.sysctls[*]",
        "spec.tolerations[*]",
        "spec.topologySpreadConstraints[*]",
        "spec.volumes[*].emptyDir",
        "spec.volumes[*].image",
        "spec.volumes[*].nfs",
        "spec.volumes[].configMap.items[*]",
        "spec.volumes[].downwardAPI.items[*]",
        "spec.volumes[].projected.sources[*].serviceAccountToken",
        "spec.volumes[].projected.sources[].serviceAccountToken.audience=*",
    ],
)
def test_what_users_can_write_without_end_is_found(field: str):
    assert field in greedy_fields()


def test_each_field_is_named_once_and_its_name_leads_to_its_type():
    fields = greedy_fields()
    assert len(set(fields)) == len(fields)
    for field in fields:
        kind = type_at(field.replace("*]", "]").replace("*}", "}").removesuffix("=*"))
        assert field.endswith("=*") == isinstance(kind, types.StrType) or "*]" in field or "*}" in field, field


def test_what_the_server_writes_is_not_among_them():
    assert not [field for field in greedy_fields() if field.startswith(("status", "apiVersion", "kind"))]
