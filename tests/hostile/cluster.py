"""Decoders of the embedded API server: requests, bodies, definitions of resources, patterns and paths."""

from __future__ import annotations

import logging

from actors.kernel import SimulatedDispatcher
from config.values.go_pattern import InvalidGoPatternError
from simulation.apiserver.core import Options
from simulation.apiserver.requests.answers import JsonAnswer, WatchAnswer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.schemas.formats import FORMATS, compiled
from simulation.apiserver.schemas.json_paths import find_all, parse_path
from simulation.apiserver.schemas.protobuf import read_protobuf
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import StatusError
from tests.hostile.decoder import Decoder, text_of
from tests.hostile.documents import POD

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
MEDIA = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
DEFINITION = b"""{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"as.x.io"},"spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"as","kind":"A","singular":"a","listKind":"AList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":
{"type":"object","properties":{"size":{"type":"integer","minimum":1,"default":2},"name":{"type":"string","pattern":
"^[a-z]+$","format":"hostname"},"l":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}}}}}},
"additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"}],"subresources":{"status":{}}}]}}"""
_CLOCK = SimulatedDispatcher(1)


def call(data: bytes) -> object:
    """Method, media type, target and body of a request to a server of its own.

    A fault of the server is told as 500.
    """
    method, media = (data[0] % len(METHODS), data[1] % len(MEDIA)) if len(data) > 1 else (0, 0)
    target, _, body = data[2:].partition(b"\n")
    path, _, query = text_of(target).partition("?")
    pairs = tuple(part.partition("=")[0::2] for part in query.split("&") if part)
    server = ApiServer(_CLOCK, Options(seed=1))
    logging.getLogger("actorlet.apiserver").setLevel(logging.CRITICAL)
    given = ApiRequest(METHODS[method], path, pairs, body, MEDIA[media])
    found = []
    for request in (given, ApiRequest("GET", path)):
        answer = server.handle(request)
        if isinstance(answer, WatchAnswer):
            answer.watcher.end()
            continue
        if isinstance(answer, JsonAnswer) and answer.code == 500:
            raise AssertionError(answer.value.get("message"))
        found.append((answer.code, answer.body() if hasattr(answer, "body") else b""))
    return found


def pattern(data: bytes) -> object:
    expression, _, text = text_of(data).partition("\0")
    found = compiled(expression)
    return None if found is None else found.is_in(text)


def formats(data: bytes) -> object:
    text = text_of(data)
    return [(name, FORMATS.conforms(text, name)) for name in FORMATS.checkers]


def json_path(data: bytes) -> object:
    path = parse_path(text_of(data))
    return path, list(find_all({"a": [{"type": "Ready", "b": 1}, {"c": [1, 2]}], "b": "x"}, path))


# DeleteOptions with a gracePeriodSeconds of 3.
_PROTOBUF = b"k8s\0\n\x13\n\x02v1\x12\rDeleteOptions\x12\x02\x08\x03"
PODS = b"/api/v1/namespaces/default/pods"
CLUSTER = (
    Decoder(
        "api-call",
        call,
        (),
        (
            b"\1\0" + PODS + b"\n" + POD.replace(b"\n", b""),
            b"\0\0" + PODS + b"?labelSelector=a%3Db&limit=1&continue=x&watch=0\n",
            b"\1\0/apis/apiextensions.k8s.io/v1/customresourcedefinitions\n" + DEFINITION.replace(b"\n", b""),
            b'\3\4/api/v1/namespaces/default\n{"metadata":{"labels":{"a":"b"},"finalizers":null}}',
            b'\3\3/api/v1/namespaces/default\n[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]',
            b'\3\5/api/v1/namespaces/default\n{"metadata":{"$patch":"delete"}}',
            b"\3\6/api/v1/namespaces/default?fieldManager=a\nmetadata: {labels: {a: b}}",
            b"\4\0/api/v1/namespaces/default/services/kubernetes?gracePeriodSeconds=0\n{}",
        ),
        (
            b"?dryRun=All",
            b"/status",
            b"/scale",
            b"/eviction",
            b"/log",
            b"/proxy/x",
            b'"x-kubernetes-preserve-unknown-fields":true,',
            b'"allOf":[{}],',
        ),
    ),
    Decoder(
        "pattern",
        pattern,
        (InvalidGoPatternError,),
        (b"^(a|b)+[[:alpha:]]\\.$\0aab.", b"(?i)x{2,3}\\z\0XX", b"(a+)+$\0aaaa"),
    ),
    Decoder(
        "formats", formats, (), (b"10.0.0.0/8", b"2026-01-31T12:00:00Z", b"1h3m", b"a@b.c", b"$.a[0]", b"aGVsbG8=")
    ),
    Decoder(
        "json-path",
        json_path,
        (ValueError,),
        (b'.a[?(@.type=="Ready")].b', b"$.a[*]['c'][-1:]", b".a[0:1]", b".x\\.y"),
        (b"[?(@", b")]", b"==", b"[:", b".*"),
    ),
    Decoder("protobuf", read_protobuf, (StatusError,), (_PROTOBUF,)),
)
