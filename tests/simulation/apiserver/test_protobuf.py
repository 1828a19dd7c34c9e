"""Requests in protobuf become the JSON that they stand for."""

from __future__ import annotations

import base64
import contextlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.apiserver.schemas.protobuf import read_protobuf
from simulation.apiserver.status import StatusError


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def message(*fields: tuple[int, Any]) -> bytes:
    """Numbers become varints or doubles; text, bytes and messages what has a length."""
    out = b""
    for number, value in fields:
        if isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def request(kind: str, *fields: tuple[int, Any], version: str = "v1") -> bytes:
    identity = message((1, version), (2, kind))
    return b"k8s\x00" + message((1, identity), (2, message(*fields)), (3, ""), (4, ""))


# What Go writes for metadata: empty text and an empty time, too.
META = message((1, "demo"), (2, ""), (3, "default"), (5, ""), (7, 0), (8, b""), (11, message((1, "a"), (2, "b"))))
GROUPS = {"TokenRequest": "authentication.k8s.io/v1", "SelfSubjectAccessReview": "authorization.k8s.io/v1"}
LIMITS = message((1, message((1, "cpu"), (2, message((1, "500m"))))))
PROBE = message((1, message((1, message((1, "true"))))), (4, 5))
CONTAINER = message((1, "app"), (2, "nginx"), (8, LIMITS), (10, PROBE), (6, message((2, 0), (3, 80))))
CACHE = message((1, "cache"), (2, message((2, message((1, "Memory"))))))
TOLERATION = message((1, "dedicated"), (2, "Exists"), (5, 300))
CPUS = message((1, "cpu"), (2, message((1, "4"))))
METADATA = {"name": "demo", "namespace": "default", "labels": {"a": "b"}}


def said(value: Any) -> Any:
    """The document without the zeros and empty values that Go writes."""
    if isinstance(value, dict):
        return {name: said(part) for name, part in value.items() if part not in (None, {}) and repr(part) != "0"}
    return [said(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        (
            "Pod",
            [
                (2, message((2, CONTAINER), (1, CACHE), (4, 20), (22, TOLERATION))),
                (3, message((1, "Pending"), (2, message((1, "Ready"), (2, "False"))))),
            ],
            {
                "spec": {
                    "containers": [
                        {
                            "name": "app",
                            "image": "nginx",
                            "resources": {"limits": {"cpu": "500m"}},
                            "livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 5},
                            "ports": [{"containerPort": 80}],
                        }
                    ],
                    "volumes": [{"name": "cache", "emptyDir": {"medium": "Memory"}}],
                    "terminationGracePeriodSeconds": 20,
                    "tolerations": [{"key": "dedicated", "operator": "Exists", "tolerationSeconds": 300}],
                },
                "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]},
            },
        ),
        (
            "Node",
            [
                (2, message((4, 1), (5, message((1, "gpu"), (3, "NoSchedule"))))),
                (3, message((1, CPUS), (5, message((1, "InternalIP"), (2, "10.0.0.1"))))),
            ],
            {
                "spec": {"unschedulable": True, "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
                "status": {"capacity": {"cpu": "4"}, "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
            },
        ),
        (
            "ConfigMap",
            [(2, message((1, "x"), (2, "1"))), (2, message((1, "y"), (2, ""))), (3, message((1, "z"), (2, b"\xff")))],
            {"data": {"x": "1", "y": ""}, "binaryData": {"z": "/w=="}},
        ),
        (
            "Secret",
            [(2, message((1, "password"), (2, b"s3cret"))), (3, "Opaque"), (5, 0)],
            {"data": {"password": base64.b64encode(b"s3cret").decode()}, "type": "Opaque", "immutable": False},
        ),
        ("Namespace", [(2, b""), (3, message((1, "")))], {}),
        (
            "ServiceAccount",
            [(3, message((1, "registry"))), (4, 1)],
            {"imagePullSecrets": [{"name": "registry"}], "automountServiceAccountToken": True},
        ),
        (
            "TokenRequest",
            [(2, message((1, "vault"), (3, message((1, "Pod"), (3, "web"))), (4, 3600)))],
            {
                "spec": {
                    "audiences": ["vault"],
                    "boundObjectRef": {"kind": "Pod", "name": "web"},
                    "expirationSeconds": 3600,
                }
            },
        ),
        (
            "Service",
            [
                (
                    2,
                    message(
                        (
                            1,
                            message((1, "http"), (2, "TCP"), (3, 80), (4, message((1, 1), (2, 0), (3, "web"))), (5, 0)),
                        ),
                        (1, message((1, ""), (3, 53), (4, message((1, 0), (2, 5353), (3, ""))))),
                        (2, message((1, "app"), (2, "demo"))),
                        (4, "ClusterIP"),
                    ),
                )
            ],
            {
                "spec": {
                    "ports": [
                        {"name": "http", "protocol": "TCP", "port": 80, "targetPort": "web"},
                        {"port": 53, "targetPort": 5353},
                    ],
                    "selector": {"app": "demo"},
                    "type": "ClusterIP",
                }
            },
        ),
        (
            "SelfSubjectAccessReview",
            [(2, message((1, message((1, "default"), (2, "create"), (3, ""), (5, "pods")))))],
            {"spec": {"resourceAttributes": {"namespace": "default", "verb": "create", "resource": "pods"}}},
        ),
        (
            "Event",
            [(2, message((1, "Pod"), (3, "web"))), (6, message((1, 1_767_323_045), (2, 0))), (7, b""), (8, 3)],
            {"involvedObject": {"kind": "Pod", "name": "web"}, "firstTimestamp": "2026-01-02T03:04:05Z", "count": 3},
        ),
    ],
)
def test_a_kind(kind: str, fields: list[tuple[int, Any]], expected: dict[str, Any]) -> None:
    version = GROUPS.get(kind, "v1")
    decoded = read_protobuf(request(kind, (1, META), *fields, version=version))
    assert said(decoded) == {"apiVersion": version, "kind": kind, "metadata": METADATA, **expected}


def test_options_that_are_zero_on_purpose_are_kept() -> None:
    eviction = request("Eviction", (2, message((1, 0), (2, message((1, "u"))))), version="policy/v1")
    assert read_protobuf(eviction) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "deleteOptions": {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}},
    }
    assert read_protobuf(request("DeleteOptions", (1, -1)))["gracePeriodSeconds"] == -1


def test_a_kind_that_is_not_known_is_named() -> None:
    with pytest.raises(StatusError, match="Deployment"):
        read_protobuf(request("Deployment", (1, META)))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        request("ConfigMap", (1, META))[:-1],
        request("ConfigMap", (1, 5)),
        request("ConfigMap", (4, "yes")),
        request("Event", (6, message((1, 2**62)))),
        request("ConfigMap", (2, message((1, b"\xff"), (2, "1")))),
        b"k8s\x00\x0b",
        b"k8s\x00" + b"\xff" * 20,
    ],
)
def test_invalid_protobuf_is_refused(body: bytes) -> None:
    with pytest.raises(StatusError):
        read_protobuf(body)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_a_refusal(data: bytes) -> None:
    with contextlib.suppress(StatusError):
        read_protobuf(request("Event", (6, data)))


def test_a_definition_reads_as_its_json() -> None:
    text = message((5, "string"), (10, 0), (15, "^a"), (18, 0), (27, message((6, "ipv4"))), (37, 0))
    count = message((5, "integer"), (8, message((1, b"3"))), (9, 10.0), (20, message((1, b"1"))), (41, "k"))
    some = message((5, "object"), (30, message((1, 1))), (38, 1))
    lists = message((5, "array"), (24, message((1, message((5, "string"))))))
    others = message((5, "object"), (30, message((1, 1), (2, message((5, "boolean"))))))
    named = {b"text": text, b"count": count, b"some": some, b"lists": lists, b"others": others}
    root = message((5, "object"), *((29, message((1, name), (2, schema))) for name, schema in named.items()))
    version = message((1, "v1"), (2, 1), (3, 1), (4, message((1, root))), (5, message((1, b""))), (7, 0))
    spec = message((1, "shop.example"), (3, message((1, "apples"), (4, "Apple"))), (4, "Namespaced"), (7, version))
    body = request(
        "CustomResourceDefinition",
        (1, message((1, "apples.shop.example"))),
        (2, spec),
        version="apiextensions.k8s.io/v1",
    )
    read = read_protobuf(body)
    assert said(read["spec"]["names"]) == {"plural": "apples", "kind": "Apple"}
    [of_version] = read["spec"]["versions"]
    assert (of_version["name"], of_version["served"], of_version["subresources"]) == ("v1", True, {"status": {}})
    assert of_version["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "pattern": "^a", "anyOf": [{"format": "ipv4"}]},
            "count": {
                "type": "integer",
                "default": 3,
                "maximum": 10,
                "enum": [1],
                "x-kubernetes-list-map-keys": ["k"],
            },
            "some": {"type": "object", "additionalProperties": True, "x-kubernetes-preserve-unknown-fields": True},
            "lists": {"type": "array", "items": {"type": "string"}},
            "others": {"type": "object", "additionalProperties": {"type": "boolean"}},
        },
    }
