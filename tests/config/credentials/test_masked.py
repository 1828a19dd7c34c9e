"""Texts of others, without the secrets that they were told."""

from __future__ import annotations

import json

import pytest

from config.credentials.docker_config import Credential
from config.credentials.kubeconfig import UserAccess, decode_kubeconfig
from config.credentials.masked import masked
from config.documents.codec import DocumentError
from config.objects import Secret, TokenRequestStatus
from config.objects.authentication import TokenReviewSpec
from runtime.csi.capability import Access, AccessMode, StageVolume
from runtime.volumes.csi_material import CsiMaterial

TOKENS = json.dumps({"vault": {"token": "s3cr3t-token", "expirationTimestamp": "2030"}})
KEY = "-----BEGIN KEY-----\nMIGHAgEAs3cr3t\nline2s3cr3t\n-----END KEY-----\n"


@pytest.mark.parametrize(
    ("text", "secrets", "shown"),
    [
        ("", ("word",), ""),
        ("nothing of it", ("pa55word",), "nothing of it"),
        ("no user pa55word", ("pa55word",), "no user ***"),
        ("Basic YW5uOnBhNTV3b3Jk was refused", ("ann:pa55word",), "Basic *** was refused"),
        ("GET https://ann:p%2F5word@host", ("p/5word",), "GET https://ann:***@host"),
        ("it is 'line\\none'", ("line\none",), "it is '***'"),
        ("bad key: line2s3cr3t", (KEY,), "bad key: ***"),
        ("who is s3cr3t-token?", (TOKENS,), "who is ***?"),
        ("a longer one goes first: abcdefgh", ("abcd", "abcdefgh"), "a longer one goes first: ***"),
        ("too short to be found: abc", ("abc", "", None), "too short to be found: abc"),
    ],
)
def test_a_secret_is_found_however_it_is_written(text: str, secrets: tuple[str | None, ...], shown: str) -> None:
    assert masked(text, secrets) == shown


@pytest.mark.parametrize(
    "document",
    [
        "users: [{user: {password: s3cr3t, token: [s3cr3t\n",
        "users:\n- user:\n    password: s3cr3t\n   token: s3cr3t\n",
        'users: [{name: u, user: {token: [s3cr3t], password: {s3cr3t: s3cr3t}, client-key-data: "s3cr3t!"}}]',
        "clusters: [{name: k, cluster: {server: 'ftp://u:s3cr3t@h', proxy-url: 'socks5://u:s3cr3t@p'}}]",
        "users: [{name: u, user: {exec: {apiVersion: v9, command: x, args: [s3cr3t], env: [{s3cr3t: s3cr3t}]}}}]",
    ],
)
def test_a_broken_kubeconfig_is_complained_of_without_its_secrets(document: str) -> None:
    rest = "\napiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
    with pytest.raises(DocumentError) as refused:
        decode_kubeconfig((document + rest).encode(), "/")
    said = f"{refused.value}{refused.value!r}"
    assert "s3cr3t" not in said


@pytest.mark.parametrize(
    "holder",
    [
        Secret(data={"key": "czNjcjN0"}, string_data={"key": "s3cr3t"}),
        TokenRequestStatus(token="s3cr3t"),
        TokenReviewSpec(token="s3cr3t"),
        CsiMaterial("driver", "handle", publish_secrets={"key": "s3cr3t"}),
        StageVolume("handle", "/path", Access(AccessMode.SINGLE_NODE_WRITER), secrets={"key": "s3cr3t"}),
        UserAccess(token="s3cr3t", password="s3cr3t"),
        Credential("ann", "s3cr3t"),
    ],
    ids=lambda holder: type(holder).__name__,
)
def test_holders_of_secrets_have_a_repr_without_them(holder: object) -> None:
    for text in (repr(holder), str([holder]), f"{holder}"):
        assert "s3cr3t" not in text
        assert "czNj" not in text
        assert type(holder).__name__ in text
