"""Kubeconfig documents: what each field becomes, and what is told of a wrong one."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from config.credentials.kubeconfig import (
    ApiAccess,
    ClusterAccess,
    ExecPlugin,
    Impersonation,
    Pem,
    UserAccess,
    decode_kubeconfig,
    kubeconfig_document,
)
from config.documents.codec import DocumentError
from config.documents.writing import yaml_text

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
ENCODED = base64.b64encode(PEM.encode()).decode()
SERVER = "https://10.0.0.1:6443"
V1 = "client.authentication.k8s.io/v1"


def document(cluster: Any = None, user: Any = None, **changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": SERVER} | (cluster or {})}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    } | changes


def read(value: Any, context: str = "") -> ApiAccess:
    return decode_kubeconfig(yaml_text(value).encode(), "/etc/kubernetes", context)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ClusterAccess(SERVER)),
        ({"server": "http://localhost:8080/"}, ClusterAccess("http://localhost:8080")),
        ({"certificate-authority": "pki/ca.crt"}, ClusterAccess(SERVER, Pem("/etc/kubernetes/pki/ca.crt"))),
        ({"certificate-authority": "/pki/ca.crt"}, ClusterAccess(SERVER, Pem("/pki/ca.crt"))),
        ({"certificate-authority-data": ENCODED}, ClusterAccess(SERVER, Pem(data=PEM))),
        (
            {"certificate-authority-data": f"{ENCODED[:20]}\n{ENCODED[20:]}", "certificate-authority": "x"},
            ClusterAccess(SERVER, Pem(data=PEM)),
        ),
        ({"insecure-skip-tls-verify": True}, ClusterAccess(SERVER, insecure_skip_tls_verify=True)),
        ({"tls-server-name": "api"}, ClusterAccess(SERVER, tls_server_name="api")),
        ({"proxy-url": "http://proxy:3128"}, ClusterAccess(SERVER, proxy_url="http://proxy:3128")),
        ({"disable-compression": True}, ClusterAccess(SERVER, disable_compression=True)),
    ],
)
def test_a_cluster(fields: dict[str, Any], expected: ClusterAccess) -> None:
    assert read(document(fields)).cluster == expected


def plugin(**fields: Any) -> dict[str, Any]:
    return {"exec": {"apiVersion": V1, "command": "login", "interactiveMode": "Never"} | fields}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, UserAccess()),
        ({"token": "t\n"}, UserAccess(token="t")),
        ({"tokenFile": "token"}, UserAccess(token_file="/etc/kubernetes/token")),
        ({"username": "n", "password": "p"}, UserAccess(username="n", password="p")),
        (
            {"client-certificate": "a", "client-key": "/b"},
            UserAccess(client_certificate=Pem("/etc/kubernetes/a"), client_key=Pem("/b")),
        ),
        (
            {"client-certificate-data": ENCODED, "client-key-data": ENCODED},
            UserAccess(client_certificate=Pem(data=PEM), client_key=Pem(data=PEM)),
        ),
        (
            {"token": "t", "as": "a", "as-uid": "1", "as-groups": ["g", "h"], "as-user-extra": {"k": ["v"]}},
            UserAccess(token="t", impersonate=Impersonation("a", "1", ("g", "h"), (("k", ("v",)),))),
        ),
        (plugin(), UserAccess(exec=ExecPlugin(V1, "login"))),
        (plugin(command="./login"), UserAccess(exec=ExecPlugin(V1, "/etc/kubernetes/./login"))),
        (
            plugin(
                apiVersion=V1 + "beta1",
                args=["-x", "1"],
                env=[{"name": "A", "value": "B"}],
                provideClusterInfo=True,
                installHint="install it",
                interactiveMode="IfAvailable",
            ),
            UserAccess(exec=ExecPlugin(V1 + "beta1", "login", ("-x", "1"), (("A", "B"),), True, "install it")),
        ),
    ],
)
def test_a_user(fields: dict[str, Any], expected: UserAccess) -> None:
    assert read(document(user=fields)).user == expected


def test_the_cluster_info_of_a_plugin_is_kept_as_it_is() -> None:
    extensions = [
        {"name": "other", "extension": {"x": 1}},
        {"name": "client.authentication.k8s.io/exec", "extension": {"audience": ["a"]}},
    ]
    found = read(document({"extensions": extensions})).cluster.exec_extension
    assert found is not None
    assert bytes(found) == b'{"audience":["a"]}'


TWO = document(
    clusters=[{"name": "c", "cluster": {"server": SERVER}}, {"name": "d", "cluster": {"server": "https://d"}}],
    contexts=[
        {"name": "x", "context": {"cluster": "c", "user": "u"}},
        {"name": "y", "context": {"cluster": "d", "namespace": "n"}},
        {"name": "broken", "context": {"cluster": "gone", "user": "away"}},
    ],
)


def test_the_context_that_is_asked_for_wins_over_the_current_one() -> None:
    assert read(TWO) == ApiAccess(ClusterAccess(SERVER), context="x")
    assert read(TWO, "y") == ApiAccess(ClusterAccess("https://d"), namespace="n", context="y")


@pytest.mark.parametrize(
    ("value", "context", "faults"),
    [
        (TWO, "z", ["--context: there is no context 'z'; there are broken, x, y"]),
        (
            TWO,
            "broken",
            [
                "$.contexts[2].context.cluster: there is no cluster 'gone'; there are c, d",
                "$.contexts[2].context.user: there is no user 'away'; there are u",
            ],
        ),
        (
            TWO | {"current-context": ""},
            "",
            ["$.current-context: names no context; choose one with current-context; there are broken, x, y"],
        ),
        (
            TWO | {"contexts": None},
            "",
            ["$.current-context: there is no context 'x'; the document has no contexts"],
        ),
        (
            document(contexts=[{"name": "x", "context": {}}]),
            "",
            ["$.contexts[0].context.cluster: names no cluster; every context needs one; there are c"],
        ),
        (document(apiVersion="v2"), "", ["$.apiVersion: is 'v2', which this is not; write 'apiVersion: v1'"]),
        (document(kind="Pod"), "", ["$.kind: is 'Pod', which this is not; write 'kind: Config'"]),
        (
            document(users={}),
            "",
            ["$.users: must be a list; begin each entry with a dash", "$.contexts[0].context.user: "],
        ),
        (document(users=[{"user": {}}, {"name": "u"}]), "", ["$.users[0].name: is missing; every entry needs a name"]),
        (document(users=[{"name": "u"}, {"name": "u"}]), "", ["$.users[1].name: 'u' is given twice; keep one of them"]),
        (
            document(users=["u"]),
            "",
            ["$.users[0]: must be an object; write key: value", "$.contexts[0].context.user: "],
        ),
        (["x"], "", ["$: must be an object; write key: value"]),
    ],
)
def test_a_kubeconfig_without_a_usable_context_is_refused(value: Any, context: str, faults: list[str]) -> None:
    check(value, context, faults)


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        ({"server": None}, ["server: is missing; write the URL"]),
        ({"server": "10.0.0.1:6443"}, ["server: '10.0.0.1:6443' is not a URL; write https://10.0.0.1:6443"]),
        ({"server": 6443}, ["server: must be a string", "server: is missing"]),
        ({"certificate-authority-data": "%"}, ["certificate-authority-data: is not base64 of text; write the base64"]),
        ({"certificate-authority-data": PEM}, ["certificate-authority-data: is not base64 of text; PEM text belongs"]),
        ({"certificate-authority-data": "QUJD"}, ["certificate-authority-data: is the base64 of something else"]),
        (
            {"certificate-authority": "x", "insecure-skip-tls-verify": True},
            ["insecure-skip-tls-verify: excludes a certificate authority"],
        ),
        ({"insecure-skip-tls-verify": "yes please"}, ["insecure-skip-tls-verify: must be true or false"]),
        ({"proxy-url": "socks5://p"}, ["proxy-url: 'socks5://p' is not a proxy this program can use"]),
    ],
)
def test_a_wrong_cluster(fields: dict[str, Any], faults: list[str]) -> None:
    check(document(fields), "", [f"$.clusters[0].cluster.{fault}" for fault in faults])


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        (
            {"auth-provider": {"name": "gcp"}},
            [".auth-provider: built-in providers are gone from Kubernetes; use an exec"],
        ),
        ({"client-certificate": "x"}, [".client-key: is missing beside the client certificate"]),
        ({"client-key": "x"}, [".client-certificate: is missing beside the client key"]),
        ({"token": "t", "username": "n"}, [": has a token and a username and password; keep one"]),
        ({"tokenFile": "t"} | plugin(), [": has a token and an exec plugin; keep one"]),
        ({"token": 12}, [".token: must be a string; put it in quotes"]),
        ({"as-groups": ["g"]}, [".as: is missing beside what else is impersonated"]),
        ({"as": "a", "as-groups": "g"}, [".as-groups: must be a list of strings"]),
        ({"as": "a", "as-user-extra": {"k": 1}}, [".as-user-extra.k: must be a list of strings"]),
        ({"as": "a", "as-user-extra": []}, [".as-user-extra: must be an object of lists of strings"]),
        (plugin(apiVersion=None), [".exec.apiVersion: is missing; write client.authentication.k8s.io/v1"]),
        (
            plugin(apiVersion=V1 + "alpha1"),
            [".exec.apiVersion: is 'client.authentication.k8s.io/v1alpha1', which is not"],
        ),
        (plugin(command=""), [".exec.command: is missing"]),
        (plugin(interactiveMode=None), [".exec.interactiveMode: is missing; write Never or IfAvailable"]),
        (plugin(interactiveMode="Always"), [".exec.interactiveMode: Always needs a person to type"]),
        (plugin(interactiveMode="Often"), [".exec.interactiveMode: 'Often' is unknown"]),
        (plugin(env=[{"value": "1"}]), [".exec.env[0].name: is not the name of an environment variable"]),
        (plugin(env={"A": "1"}), [".exec.env: must be a list"]),
        (plugin(args="x"), [".exec.args: must be a list of strings"]),
    ],
)
def test_a_wrong_user(fields: dict[str, Any], faults: list[str]) -> None:
    check(document(user=fields), "", [f"$.users[0].user{fault}" for fault in faults])


def check(value: Any, context: str, faults: list[str]) -> None:
    with pytest.raises(DocumentError) as caught:
        read(value, context)
    found = [str(fault) for fault in caught.value.faults]
    assert len(found) == len(faults), found
    for text, beginning in zip(found, faults, strict=True):
        assert text.startswith(beginning)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"", "$: the document is empty; a kubeconfig has clusters, users and contexts"),
        (b"# nothing\n", "$: the document is empty"),
        (b"a: [", "$: it is not YAML"),
        (b"a: 1\n---\nb: 1\n", "$: it has 2 documents"),
        (b"kind: Config\nkind: Config\n", "$.kind: line 2: is given twice"),
    ],
)
def test_a_file_that_is_no_document(text: bytes, fault: str) -> None:
    with pytest.raises(DocumentError) as caught:
        decode_kubeconfig(text, "/")
    assert str(caught.value).startswith(fault)


def test_a_misspelled_field_is_told_and_forgiven() -> None:
    access = read(document({"certificate-autority": "ca"}, colour="red"))
    assert [str(warning) for warning in access.warnings] == [
        "$.clusters[0].cluster.certificate-autority: this field is unknown and has no effect; "
        "did you mean certificate-authority?",
        "$.colour: this field is unknown and has no effect; remove it",
    ]


def test_faults_elsewhere_in_the_document_do_not_matter() -> None:
    assert read(document(users=[{"name": "u"}, {"name": "broken", "user": {"token": 1}}])).user == UserAccess()


def test_no_repr_and_no_fault_shows_a_secret() -> None:
    secret = "hunter2"
    access = read(document(user={"username": "n", "password": secret}))
    assert secret not in repr(access)
    access = read(document(user=plugin(args=[secret])))
    assert secret not in repr(access) + repr(access.user.exec)
    with pytest.raises(DocumentError) as caught:
        read(document(user={"token": secret, "client-key-data": secret, "client-certificate": "c"}))
    assert secret not in str(caught.value.faults)


def test_a_written_kubeconfig_reads_back() -> None:
    authority, certificate, key = Pem(data=PEM), Pem(data=PEM + "c"), Pem("/k")
    text = kubeconfig_document(
        SERVER,
        name="demo",
        user="admin",
        namespace="n",
        certificate_authority=authority,
        client_certificate=certificate,
        client_key=key,
    )
    user = UserAccess(client_certificate=certificate, client_key=key)
    assert decode_kubeconfig(text, "/") == ApiAccess(ClusterAccess(SERVER, authority), user, "n", "demo")
    text = kubeconfig_document(SERVER, token="t", insecure_skip_tls_verify=True)
    insecure = ClusterAccess(SERVER, insecure_skip_tls_verify=True)
    assert decode_kubeconfig(text, "/") == ApiAccess(insecure, UserAccess(token="t"), context="actorlet")
