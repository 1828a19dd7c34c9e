"""Records of pulled images as a kubelet writes and reads them."""

from __future__ import annotations

import hashlib

import pytest

from actors.model.pull_records import (
    ALL_PODS,
    Grants,
    PullAccount,
    PulledRecord,
    PullSecret,
    RecordError,
    credential_hash,
    decode_intent,
    decode_record,
    encode_intent,
    encode_record,
    file_name,
    with_grants,
)
from config.credentials.docker_config import Credential

TIME, LATER = "2024-10-21T12:26:40Z", "2024-10-21T12:30:00Z"
MINE, YOURS = PullSecret("u1", "a", "pull", "h1"), PullSecret("u2", "b", "pull", "h2")
ACCOUNT = PullAccount("u3", "a", "builder")
OF_A_KUBELET = (
    b'{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"2024-10-21T12:26:40Z",'
    b'"imageRef":"sha256:1","credentialMapping":{"r.io/app":{"kubernetesSecrets":[{"uid":"u1","namespace":"a",'
    b'"name":"pull","credentialHash":"h1"}],"kubernetesServiceAccounts":[{"uid":"u3","namespace":"a",'
    b'"name":"builder"}]},"r.io/open":{"nodePodsAccessible":true}}}\n'
)
RECORD = PulledRecord(TIME, "sha256:1", {"r.io/open": ALL_PODS, "r.io/app": Grants((MINE,), (ACCOUNT,))})
"""A kubelet sorts the names."""


# (spec 6.4.3)
def test_a_record_is_written_as_a_kubelet_writes_it_and_read_again() -> None:
    assert encode_record(RECORD) == OF_A_KUBELET
    assert decode_record(OF_A_KUBELET) == RECORD


def test_a_record_that_opens_the_image_to_nobody_has_no_mapping() -> None:
    text = encode_record(PulledRecord(TIME, "sha256:1"))
    assert b"credentialMapping" not in text
    assert decode_record(text) == PulledRecord(TIME, "sha256:1")


def test_an_intent_is_a_kubelets_and_its_file_too() -> None:
    image = "docker.io/testing/test:latest"
    text = b'{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"%s"}\n' % image.encode()
    assert encode_intent(image) == text
    assert decode_intent(text.replace(b"v1beta1", b"v1alpha1")) == image
    name = "sha256-aef2af226629a35d5f3ef0fdbb29fdbebf038d0acd8850590e8c48e1e283aa56"
    assert file_name(image) == name


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"\xff", b"{}", b'{"a":' * 9999, encode_intent("a")),
        OF_A_KUBELET.replace(b"v1beta1", b"v9"),
        OF_A_KUBELET.replace(b'"imageRef"', b'"notBefore":"2030-01-01T00:00:00Z","imageRef"'),
        OF_A_KUBELET.replace(b'"nodePodsAccessible":true', b'"nodePodsAccessible":true,"except":["a"]'),
    ],
)
def test_an_invalid_record_is_an_error(content: bytes) -> None:
    with pytest.raises(RecordError):
        decode_record(content)


# (spec 6.4.3)
def test_a_credential_is_kept_as_the_digest_that_a_kubelet_computes() -> None:
    document = '{"username":"u","password":"a\\u0026b\\u003c\\u003e"}'
    assert credential_hash(Credential("u", "a&b<>")) == hashlib.sha256(document.encode()).hexdigest()


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        pytest.param(None, None, {}, id="pulled, nobody knows how"),
        pytest.param(None, Grants((MINE,)), {"r.io/app": Grants((MINE,))}, id="the first"),
        pytest.param({}, Grants((MINE,)), {"r.io/app": Grants((MINE,))}, id="the first under this name"),
        pytest.param({"r.io/app": Grants((MINE,))}, None, None, id="nothing new is known"),
        pytest.param({"r.io/app": Grants((MINE,))}, Grants((MINE,)), None, id="the same"),
        pytest.param(
            {"r.io/app": Grants((YOURS,))}, Grants((MINE,)), {"r.io/app": Grants((MINE, YOURS))}, id="one more, sorted"
        ),
        pytest.param(
            {"r.io/app": Grants((MINE,))},
            Grants((PullSecret("u1", "a", "pull", "new"),)),
            {"r.io/app": Grants((PullSecret("u1", "a", "pull", "new"),))},
            id="a secret that has changed",
        ),
        pytest.param(
            {"r.io/app": Grants((MINE,))},
            Grants((), (ACCOUNT,)),
            {"r.io/app": Grants((MINE,), (ACCOUNT,))},
            id="account",
        ),
        pytest.param({"r.io/app": Grants((MINE,))}, ALL_PODS, {"r.io/app": ALL_PODS}, id="open to all from now on"),
        pytest.param({"r.io/app": ALL_PODS}, Grants((MINE,)), None, id="open to all already"),
    ],
)
def test_a_pull_adds_its_grants_to_a_record(
    before: dict[str, Grants] | None, new: Grants | None, after: dict[str, Grants] | None
) -> None:
    record = None if before is None else PulledRecord(TIME, "ref", before)
    expected = None if after is None else PulledRecord(LATER, "ref", after)
    assert with_grants(record, "r.io/app:1", "ref", new, LATER) == expected
