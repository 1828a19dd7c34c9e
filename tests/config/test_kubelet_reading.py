"""A faulty document tells every fault at once, each with its path, its reason and what to do."""

import json

import pytest

from tests.config.kubelet_documents import decode_kubelet_configuration

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def faults_of(text: str) -> dict[str, str]:
    return {fault.path: fault.reason for fault in decode_kubelet_configuration(text.encode()).faults}


@pytest.mark.parametrize(
    ("body", "path", "reason"),
    [
        ("maxPod: 3", "$.maxPod", "unknown field"),
        ("authentication: {x509: {clientCaFile: /a}}", "$.authentication.x509.clientCaFile", "unknown field"),
        ("maxPods: 3\nmaxPods: 4", "$.maxPods", "line 4: is given twice, first in line 3"),
        ("maxPods: '3'", "$.maxPods", "must be a whole number, is text ('3')"),
        ("maxPods: 3.5", "$.maxPods", "must be a whole number, is a number (3.5)"),
        ("maxPods: 1e999", "$.maxPods", "must be a whole number, is a number (inf)"),
        ("maxPods: 3000000000", "$.maxPods", "3000000000 does not fit 32 bits"),
        ("failSwapOn: 1", "$.failSwapOn", "must be true or false, is a number (1)"),
        ("clusterDomain: 7", "$.clusterDomain", "must be text, is a number (7)"),
        ("clusterDNS: 10.0.0.10", "$.clusterDNS", "must be a list, is text ('10.0.0.10')"),
        ("clusterDNS: [1]", "$.clusterDNS[0]", "must be text, is a number (1)"),
        ("evictionHard: [a]", "$.evictionHard", "must be a map, is a list"),
        ("evictionHard: {memory.available: 5}", '$.evictionHard["memory.available"]', "must be text, is a number (5)"),
        ("logging: text", "$.logging", "must be an object, is text ('text')"),
        ("syncFrequency: 10", "$.syncFrequency", "must be a duration, is a number (10)"),
        ("memoryThrottlingFactor: a", "$.memoryThrottlingFactor", "must be a number, is text ('a')"),
        ("registerWithTaints: [{key: a, efect: b}]", "$.registerWithTaints[0].efect", "unknown field"),
    ],
)
# (spec 12.1.4)
def test_a_wrong_field_is_told_with_its_path(body: str, path: str, reason: str) -> None:
    assert faults_of(HEADER + body) == {path: reason}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", "$"),
        ("# only a comment\n", "$"),
        ("[1]", "$"),
        ("a: [", "$"),
        (HEADER + "---\n" + HEADER, "$"),
        ("kind: KubeletConfiguration", "$.apiVersion"),
        ("apiVersion: kubelet.config.k8s.io/v1alpha1\nkind: KubeletConfiguration", "$.apiVersion"),
        ("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Pod", "$.kind"),
    ],
)
def test_a_document_that_is_no_configuration_is_refused(text: str, path: str) -> None:
    assert list(faults_of(text)) == [path]


def test_every_fault_is_told_at_once_and_the_rest_is_read() -> None:
    result = decode_kubelet_configuration((HEADER + "maxPods: x\nport: y\nnonsense: 1\npodsPerCore: 7").encode())
    assert {fault.path for fault in result.faults} == {"$.maxPods", "$.port", "$.nonsense"}
    assert (result.configuration.pods_per_core, result.configuration.max_pods) == (7, 110)


def test_a_number_beyond_all_bounds_is_a_fault() -> None:
    header = '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", '
    huge = "1" + 400 * "0"
    faults = faults_of(header + f'"maxPods": {huge}, "memoryThrottlingFactor": {huge}' + "}")
    assert set(faults) == {"$.maxPods", "$.memoryThrottlingFactor"}


# (spec 12.1.4)
def test_a_misspelled_field_gets_a_suggestion() -> None:
    (fault,) = decode_kubelet_configuration((HEADER + "clusterDns: [10.0.0.10]").encode()).faults
    assert fault.hint == "did you mean clusterDNS?"


@pytest.mark.parametrize("field", ["iptablesMasqueradeBit: 14", "iptablesDropBit: 15", "hairpinMode: none"])
def test_a_field_without_effect_is_a_warning(field: str) -> None:
    result = decode_kubelet_configuration((HEADER + field).encode())
    assert not result.faults
    assert [warning.path for warning in result.warnings] == [f"$.{field.split(':')[0]}"]
    assert result.warnings[0].hint


def test_json_is_read_like_yaml() -> None:
    document = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "maxPods": 7,
        "syncFrequency": "1m30s",
    }
    as_json = decode_kubelet_configuration(json.dumps(document).encode())
    as_yaml = decode_kubelet_configuration((HEADER + "maxPods: 7\nsyncFrequency: 1m30s").encode())
    assert as_json == as_yaml
    assert as_json.configuration.sync_frequency == 90 * 10**9
