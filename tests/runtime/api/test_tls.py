"""Encrypted connections: whom the client trusts, and who it says it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.api.resources import PODS
from config.credentials.kubeconfig import ClusterAccess, Pem, UserAccess
from runtime.api import ApiError, get
from runtime.api.tls import CHECK_EVERY_NS, TlsContexts, TlsError
from tests.runtime.api.conftest import Connect, Serve
from tests.runtime.api.scripted_server import WAIT, Certificates, Pair, echo

GET = get(PODS, "default", "web")


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return Certificates()


def with_certificate(pair: Pair) -> UserAccess:
    return UserAccess(client_certificate=Pem(data=pair.certificate), client_key=Pem(data=pair.key))


@pytest.mark.parametrize("as_file", [True, False])
def test_a_server_of_the_named_authority_is_trusted(
    serve: Serve, connect: Connect, certificates: Certificates, tmp_path: Path, as_file: bool
) -> None:
    (tmp_path / "ca.crt").write_text(certificates.authority)
    authority = Pem(str(tmp_path / "ca.crt")) if as_file else Pem(data=certificates.authority)
    server = serve(echo, certificates=certificates)
    client = connect(server.access(certificate_authority=authority))
    for _ in range(3):
        assert client.call(GET).result(WAIT).metadata.name == "web"
    assert len(server.connections) == 1


def test_an_authority_is_trusted_as_it_is_named_also_without_the_one_that_signed_it(
    serve: Serve, connect: Connect
) -> None:
    """All other clients do so: in many clusters a company's authority has signed the cluster's."""
    below = Certificates("cluster", above=Certificates("company"))
    server = serve(echo, certificates=below)
    client = connect(server.access(certificate_authority=Pem(data=below.authority)))
    assert client.call(GET).result(WAIT).metadata.name == "web"


def test_a_server_of_another_authority_is_not_trusted(
    serve: Serve, connect: Connect, certificates: Certificates
) -> None:
    server = serve(echo, certificates=certificates)
    for access in (server.access(), server.access(certificate_authority=Pem(data=Certificates("other").authority))):
        error = connect(access).call(GET).exception(WAIT)
        assert isinstance(error, ApiError)
        assert error.reason == "Unreachable"
        assert error.message.startswith("no secure connection to localhost:")
    assert server.asked == []


def test_a_server_of_another_name_is_trusted_only_with_tls_server_name(
    serve: Serve, connect: Connect, certificates: Certificates
) -> None:
    server = serve(echo, certificates=certificates)
    authority = Pem(data=certificates.authority)
    there = server.url.replace("localhost", "127.0.0.1")
    access = server.access()
    elsewhere = type(access)(ClusterAccess(there, authority))
    error = connect(elsewhere).call(GET).exception(WAIT)
    assert isinstance(error, ApiError)
    assert "127.0.0.1" in error.message
    named = type(access)(ClusterAccess(there, authority, tls_server_name="api.inside"))
    assert connect(named).call(GET).result(WAIT)


def test_insecure_skip_tls_verify_trusts_every_server(
    serve: Serve, connect: Connect, certificates: Certificates
) -> None:
    server = serve(echo, certificates=certificates)
    assert connect(server.access(insecure_skip_tls_verify=True)).call(GET).result(WAIT)


def test_a_client_certificate_says_who_we_are(serve: Serve, connect: Connect, certificates: Certificates) -> None:
    server = serve(echo, certificates=certificates, require_client=True)
    authority = Pem(data=certificates.authority)
    user = with_certificate(certificates.pair("system:node:n"))
    assert connect(server.access(user, certificate_authority=authority)).call(GET).result(WAIT)
    assert [asked.peer_name for asked in server.asked] == ["system:node:n"]
    assert isinstance(connect(server.access(certificate_authority=authority)).call(GET).exception(WAIT), ApiError)


class Clock:
    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns


# (spec 17.3.2)
def test_a_renewed_certificate_is_used_by_the_next_connection(
    serve: Serve, connect: Connect, certificates: Certificates, tmp_path: Path
) -> None:
    server = serve(echo, certificates=certificates)
    paths = certificates.pair("old").write(tmp_path, "client")
    own = (Pem(paths[0]), Pem(paths[1]))
    access = server.access(certificate_authority=Pem(data=certificates.authority))
    clock = Clock()
    tls = TlsContexts(access.cluster, own, clock)
    client = connect(access, {"tls": tls})
    client.call(GET).result(WAIT)
    certificates.pair("new").write(tmp_path, "client")
    client.call(GET).result(WAIT)
    clock.ns += CHECK_EVERY_NS
    client.call(GET).result(WAIT)
    assert [asked.peer_name for asked in server.asked] == ["old", "old", "new"]


def test_the_kubelets_file_with_both_parts_is_a_certificate_and_a_key(
    serve: Serve, connect: Connect, certificates: Certificates, tmp_path: Path
) -> None:
    pair = certificates.pair("system:node:n")
    (tmp_path / "current.pem").write_text(pair.certificate + pair.key)
    both = Pem(str(tmp_path / "current.pem"))
    server = serve(echo, certificates=certificates)
    user = UserAccess(client_certificate=both, client_key=both)
    assert connect(server.access(user, certificate_authority=Pem(data=certificates.authority))).call(GET).result(WAIT)
    assert server.asked[0].peer_name == "system:node:n"


def test_half_of_a_renewed_pair_leaves_the_old_one_in_use(certificates: Certificates, tmp_path: Path) -> None:
    paths = certificates.pair("old").write(tmp_path, "client")
    clock = Clock()
    tls = TlsContexts(ClusterAccess("https://x"), (Pem(paths[0]), Pem(paths[1])), clock)
    old = tls.context()
    assert tls.context() is old
    renewed = certificates.pair("new")
    Path(paths[0]).write_text(renewed.certificate)
    clock.ns += CHECK_EVERY_NS
    assert tls.context() is old
    Path(paths[1]).write_text(renewed.key)
    clock.ns += CHECK_EVERY_NS
    assert tls.context() is not old


def test_nothing_is_made_twice_while_nothing_changes(certificates: Certificates, tmp_path: Path) -> None:
    paths = certificates.pair("old").write(tmp_path, "client")
    clock = Clock()
    tls = TlsContexts(ClusterAccess("https://x"), (Pem(paths[0]), Pem(paths[1])), clock)
    first = tls.context()
    for _ in range(5):
        clock.ns += CHECK_EVERY_NS
        assert tls.context() is first
    given = certificates.pair("given")
    other = tls.context((Pem(data=given.certificate), Pem(data=given.key)))
    assert other is not first
    assert tls.context((Pem(data=given.certificate), Pem(data=given.key))) is other


def test_without_tls_there_is_no_context() -> None:
    assert TlsContexts(ClusterAccess("http://x", Pem("/missing")), None).context() is None


def test_unusable_certificate_files_are_named(certificates: Certificates, tmp_path: Path) -> None:
    one, other = certificates.pair("one"), certificates.pair("other")
    (tmp_path / "text").write_text("hello")
    text, missing = Pem(str(tmp_path / "text")), Pem(str(tmp_path / "missing"))
    plain = ClusterAccess("https://x")
    for cluster, pair, what in (
        (ClusterAccess("https://x", missing), None, f"certificate authority {missing.path}: No such file or directory"),
        (ClusterAccess("https://x", text), None, f"certificate authority {text.path}: no certificate can be read"),
        (plain, (missing, missing), f"client certificate {missing.path}: No such file or directory"),
        (plain, (Pem(data=one.certificate), missing), f"client key {missing.path}: No such file or directory"),
        (plain, (text, text), f"client certificate {text.path}: it cannot be used with its key"),
        (
            plain,
            (Pem(data=one.certificate), Pem(data=other.key)),
            "client certificate client-certificate-data: it cannot be used with its key",
        ),
    ):
        with pytest.raises(TlsError) as caught:
            TlsContexts(cluster, pair).context()
        assert str(caught.value).startswith(what)


def test_a_certificate_that_is_missing_fails_the_call_and_not_the_client(
    serve: Serve, connect: Connect, certificates: Certificates, tmp_path: Path
) -> None:
    server = serve(echo, certificates=certificates)
    paths = str(tmp_path / "client.crt"), str(tmp_path / "client.key")
    user = UserAccess(client_certificate=Pem(paths[0]), client_key=Pem(paths[1]))
    client = connect(server.access(user, certificate_authority=Pem(data=certificates.authority)))
    error = client.call(GET).exception(WAIT)
    assert isinstance(error, ApiError)
    assert error.message == f"client certificate {paths[0]}: No such file or directory"
    certificates.pair("late").write(tmp_path, "client")
    assert client.call(GET).result(WAIT)
