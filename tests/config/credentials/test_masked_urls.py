"""Addresses with secrets in them, as people may see them."""

from __future__ import annotations

import pytest

from config.credentials.masked_urls import masked_url, without_secrets
from config.manifests import Origin, read_manifest
from config.pods.identity import SOURCE_HTTP

URL = "https://node:s3cr%2Ft@host:8443/pods?token=abcdef&v=1"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("https://host/path", "https://host/path"),
        ("https://node@host/path", "https://node@host/path"),
        ("https://node:secret@host:80/path", "https://node:***@host:80/path"),
        ("https://:secret@host/", "https://:***@host/"),
        ("https://a:p@ss@host/", "https://a:***@host/"),
        ("https://host/pods?token=abc&plain&x=", "https://host/pods?token=***&***&x=***"),
        ("https://node:pw@[::1]:8443/#part", "https://node:***@[::1]:8443/#part"),
        ("https://node:pw@[::1/", "***"),
        ("/etc/manifests/a@b?.yaml", "/etc/manifests/a@b?***"),
    ],
)
def test_an_address_is_shown_without_what_lets_somebody_in(url: str, shown: str) -> None:
    assert masked_url(url) == shown


@pytest.mark.parametrize(
    "said",
    [
        f"cannot connect to {URL}",
        "404, message='x', url='https://node:s3cr/t@host:8443/pods?token=abcdef&v=1'",
        "bad token abcdef of node, s3cr%2Ft",
    ],
)
def test_secrets_of_a_url_are_masked_in_library_errors(said: str) -> None:
    shown = without_secrets(said, URL)
    assert "***" in shown
    assert not any(secret in shown for secret in ("s3cr/t", "s3cr%2Ft", "abcdef"))


def test_the_pods_of_an_address_keep_their_identity_and_its_faults_do_not_tell_it() -> None:
    one = read_manifest(b"{apiVersion: v1, kind: Pod, metadata: {name: a}}", Origin(SOURCE_HTTP, URL), "node")
    assert one.errors
    assert all("abcdef" not in str(each) and "s3cr" not in str(each) for each in one.errors)
    text = b"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}"
    uids = {
        pod.metadata.uid
        for url in (URL, masked_url(URL))
        for pod in read_manifest(text, Origin(SOURCE_HTTP, url), "node").pods
    }
    assert len(uids) == 2, "the address as it is asked is part of it, as with a kubelet"
