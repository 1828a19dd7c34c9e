"""What a credential program is told, and which answers count."""

from __future__ import annotations

import json
from typing import Any

import pytest

from config.credentials.docker_config import Credential, RegistryEntry
from config.credentials.image_providers import EXEC_V1, EXEC_VERSIONS, ImageProvider, TokenAttributes
from config.credentials.provider_answers import (
    CacheScope,
    ProviderAnswer,
    ProviderAnswerError,
    read_answer,
    request_document,
)

DEFAULT_NS = 7
PROVIDER = ImageProvider("p", ("r.io",), DEFAULT_NS)
SECRET = "s3cr3t"


def answer(**changes: Any) -> bytes:
    fields = {
        "kind": "CredentialProviderResponse",
        "apiVersion": EXEC_V1,
        "cacheKeyType": "Image",
        "auth": {"r.io": {"username": "u", "password": SECRET}},
    } | changes
    return json.dumps({name: value for name, value in fields.items() if value != "-"}).encode()


def test_only_v1_tells_of_tokens_and_annotations() -> None:
    for version in EXEC_VERSIONS:
        provider = ImageProvider("p", ("r.io",), 0, version)
        told = json.loads(request_document(provider, "r.io/app", "t", {"a": "b"}))
        more = {"serviceAccountToken": "t", "serviceAccountAnnotations": {"a": "b"}} if version == EXEC_V1 else {}
        assert told == {"kind": "CredentialProviderRequest", "apiVersion": version, "image": "r.io/app", **more}
    assert json.loads(request_document(PROVIDER, "r.io/app")).keys() == {"kind", "apiVersion", "image"}


@pytest.mark.parametrize(
    ("changes", "scope", "cache_ns"),
    [
        ({}, CacheScope.IMAGE, DEFAULT_NS),
        ({"cacheKeyType": "Registry", "cacheDuration": "1s"}, CacheScope.REGISTRY, 10**9),
        ({"cacheKeyType": "Global", "cacheDuration": "0s"}, CacheScope.GLOBAL, 0),
        ({"cacheDuration": None}, CacheScope.IMAGE, DEFAULT_NS),
        ({"cacheDuration": "-5s"}, CacheScope.IMAGE, 0),
    ],
)
# (spec 6.3.7)
def test_how_long_an_answer_is_good_and_for_what(changes: dict[str, Any], scope: CacheScope, cache_ns: int) -> None:
    entries = (RegistryEntry("r.io", Credential("u", SECRET)),)
    assert read_answer(PROVIDER, answer(**changes)) == ProviderAnswer(scope, cache_ns, entries)


@pytest.mark.parametrize("auth", [None, {}, "-"])
def test_an_answer_may_have_no_credential(auth: Any) -> None:
    assert read_answer(PROVIDER, answer(auth=auth)).entries == ()


@pytest.mark.parametrize(
    "printed",
    [
        b"",
        b"\xff\xfe",
        SECRET.encode(),
        b"[1]",
        b'{"a":' * 5000,
        answer() + answer(),
        answer(kind=SECRET),
        answer(kind="-"),
        answer(apiVersion="credentialprovider.kubelet.k8s.io/v1beta1"),
        answer(cacheKeyType=SECRET),
        answer(cacheKeyType=["Image"]),
        answer(cacheKeyType="-"),
        answer(cacheDuration=SECRET),
        answer(cacheDuration=5),
        answer(auth=SECRET),
        answer(auth={SECRET: SECRET}),
        answer(auth={SECRET: {"username": 1, "password": SECRET}}),
        answer(auth={"r.io": {"username": "u", "password": SECRET, "token": SECRET}}),
        answer(**{SECRET: SECRET}),
    ],
)
def test_an_invalid_provider_answer_is_refused_without_quoting_it(printed: bytes) -> None:
    with pytest.raises(ProviderAnswerError) as caught:
        read_answer(PROVIDER, printed)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("by_token", "given", "accepted"), [(True, SECRET, True), (False, SECRET, False), (False, "other", True)]
)
# (spec 6.3.8)
def test_the_token_of_a_pod_is_no_answer_that_others_could_get(by_token: bool, given: str, accepted: bool) -> None:
    provider = ImageProvider("p", ("r.io",), 0, token=TokenAttributes("a", True, by_token))
    if accepted:
        assert read_answer(provider, answer(), given).entries
        return
    with pytest.raises(ProviderAnswerError, match="cacheType: Token"):
        read_answer(provider, answer(), given)
