"""Credentials of registries: both formats, and which of them an image is given (spec 6.3)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from config.credentials.docker_config import (
    Credential,
    DockerConfigError,
    RegistryEntry,
    credentials_for,
    full_name,
    matches,
    read_docker_config_json,
    read_dockercfg,
    read_secret,
    registry_key,
)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("entry", "credential"),
    [
        pytest.param({"username": "u", "password": "p"}, Credential("u", "p"), id="in the clear"),
        pytest.param({"auth": encoded("u:p")}, Credential("u", "p"), id="encoded"),
        pytest.param({"auth": encoded("u:p:q:")}, Credential("u", "p:q:"), id="a password with colons"),
        pytest.param({"auth": encoded("us:p").rstrip("=")}, Credential("us", "p"), id="without padding"),
        pytest.param({"auth": encoded("u:p"), "username": "x"}, Credential("u", "p"), id="encoded wins"),
        pytest.param({"identitytoken": "t"}, Credential(identity_token="t"), id="a token of the identity"),
        pytest.param({"registrytoken": "t", "email": "e"}, Credential(registry_token="t"), id="of the registry"),
    ],
)
def test_an_entry_is_read_in_every_form(entry: dict[str, str], credential: Credential) -> None:
    expected = (RegistryEntry("r.example.com", credential),)
    assert read_docker_config_json(json.dumps({"auths": {"r.example.com": entry}}).encode()) == expected
    assert read_dockercfg(json.dumps({"r.example.com": entry}).encode()) == expected


def test_an_entry_that_a_helper_keeps_elsewhere_is_none() -> None:
    assert read_docker_config_json(b'{"auths": {"r": {}}, "credsStore": "desktop"}') == ()
    assert read_docker_config_json(b'{"credsStore": "desktop"}') == ()


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (b"{", r"^\$: it is not JSON"),
        (b'{"auths":' + b"[" * 100_000, r"^\$: it is nested too deeply"),
        (b"\xff\xfe", r"^\$: it is not JSON"),
        (b"[]", r"^\$: must be a map"),
        (b'{"auths": 1}', r"^\$\.auths: must be a map"),
        (b'{"auths": {"r": "secret"}}', r"^\$\.auths\['r'\]: must be a map"),
        (b'{"auths": {"r": {"username": 7}}}', r"^\$\.auths\['r'\]\.username: must be a string"),
        (b'{"auths": {"r": {"auth": "c2VjcmV0"}}}', r"^\$\.auths\['r'\]\.auth: must be the base64 of name:password"),
        (b'{"auths": {"r": {"auth": "!"}}}', r"^\$\.auths\['r'\]\.auth: must be"),
    ],
)
def test_a_document_that_is_broken_is_refused_with_its_place_and_without_its_secrets(
    document: bytes, place: str
) -> None:
    with pytest.raises(DockerConfigError, match=place) as refused:
        read_docker_config_json(document)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "data", "found"),
    [
        ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": b'{"auths": {"r": {"username": "u"}}}'}, True),
        ("kubernetes.io/dockercfg", {".dockercfg": b'{"r": {"username": "u"}}'}, True),
        ("kubernetes.io/dockercfg", {".dockerconfigjson": b'{"auths": {"r": {"username": "u"}}}'}, False),
        ("Opaque", {".dockerconfigjson": b'{"auths": {"r": {"username": "u"}}}'}, False),
        ("kubernetes.io/dockerconfigjson", {}, False),
    ],
)
# (spec 6.3.2)
def test_a_secret_is_read_as_its_type_says(kind: str, data: dict[str, bytes], found: bool) -> None:
    assert bool(read_secret(kind, data)) is found


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("nginx", "docker.io/library/nginx"),
        ("nginx:1.27", "docker.io/library/nginx"),
        ("team/app@sha256:00", "docker.io/team/app"),
        ("docker.io/library/nginx", "docker.io/library/nginx"),
        ("index.docker.io/library/nginx", "docker.io/library/nginx"),
        ("r.example.com:5000/a/b:1@sha256:00", "r.example.com:5000/a/b"),
        ("localhost/a", "localhost/a"),
        ("localhost:5000/a", "localhost:5000/a"),
    ],
)
def test_an_image_has_a_full_name(image: str, name: str) -> None:
    assert full_name(image) == name


@pytest.mark.parametrize(
    ("registry", "key"),
    [
        ("https://index.docker.io/v1/", "index.docker.io"),
        ("https://r.example.com/v2/", "r.example.com"),
        ("http://r.example.com:5000", "r.example.com:5000"),
        ("r.example.com/", "r.example.com"),
        ("r.example.com/team", "r.example.com/team"),
        ("https://r.example.com/v2/team", "r.example.com/team"),
        ("r.example.com/v2", "r.example.com/v2"),
    ],
)
# (spec 6.3.4)
def test_a_registry_has_one_key_in_all_its_forms(registry: str, key: str) -> None:
    assert registry_key(registry) == key


@pytest.mark.parametrize(
    ("key", "image", "expected"),
    [
        ("r.example.com", "r.example.com/a", True),
        ("r.example.com", "r.example.com:443/a", False),
        ("r.example.com:443", "r.example.com:443/a", True),
        ("r.example.com:443", "r.example.com/a", False),
        ("*.example.com", "r.example.com/a", True),
        ("*.example.com", "x.r.example.com/a", False),
        ("*.*.example.com", "x.r.example.com/a", True),
        ("r*.example.com", "r2.example.com/a", True),
        ("r?.example.com", "r2.example.com/a", True),
        ("*", "localhost/a", True),
        ("*", "r.example.com/a", False),
        ("r.example.com/team", "r.example.com/team/app", True),
        ("r.example.com/team", "r.example.com/other/app", False),
        ("*.example.com/team", "r.example.com/team/app", True),
        ("10.0.0.1:5000", "10.0.0.1:5000/a", True),
    ],
)
# (spec 6.3.4)
def test_which_keys_are_for_which_images(key: str, image: str, expected: bool) -> None:
    assert matches(key, image) is expected


def ring(*registries: str) -> tuple[RegistryEntry, ...]:
    return tuple(RegistryEntry(each, Credential(each)) for each in registries)


@pytest.mark.parametrize(
    ("image", "documents", "names"),
    [
        pytest.param("r.example.com/a", [ring("r.example.com")], ["r.example.com"], id="the one"),
        pytest.param("other.example.com/a", [ring("r.example.com")], [], id="none"),
        pytest.param(
            "r.example.com/team/app",
            [ring("r.example.com", "r.example.com/team", "*.example.com")],
            ["r.example.com/team", "r.example.com", "*.example.com"],
            id="the most specific first",
        ),
        pytest.param("nginx", [ring("https://index.docker.io/v1/")], ["https://index.docker.io/v1/"], id="Docker Hub"),
        pytest.param("r.example.com/a", [ring("https://index.docker.io/v1/")], [], id="Docker Hub is no other"),
        pytest.param(
            "nginx", [ring("index.docker.io", "docker.io/library")], ["docker.io/library"], id="Hub is a last resort"
        ),
        pytest.param(
            "r.example.com/a",
            [ring("r.example.com"), ring("r.example.com/a", "r.example.com")],
            ["r.example.com", "r.example.com/a"],
            id="the pod's before the node's, none twice",
        ),
    ],
)
# (spec 6.3.4)
def test_credentials_are_tried_in_order(image: str, documents: Any, names: list[str]) -> None:
    assert [each.username for each in credentials_for(image, *documents)] == names


def test_several_secrets_for_one_registry_are_all_tried_in_their_order() -> None:
    entries = [RegistryEntry("r.io", Credential("a")), RegistryEntry("https://r.io/v2/", Credential("b"))]
    assert [each.username for each in credentials_for("r.io/x", entries)] == ["a", "b"]


def test_a_credential_does_not_show_itself() -> None:
    assert "word" not in repr(RegistryEntry("r", Credential("u", "word")))
