"""How a node requests its first certificate, over HTTP.

The request outlives the agent that made it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from cli.run.joining import BootstrapCredentials, JoiningEnded, join_with_bootstrap
from cli.run.node_start import open_lines
from cli.simulated.embedded_api import ApiServerOptions, EmbeddedApi, embedded_api
from config.api.resources import CERTIFICATE_SIGNING_REQUESTS
from config.credentials.kubeconfig import Pem, kubeconfig_document
from config.flags.command_line import parse_flags
from config.kubelet import KubeletConfiguration
from config.objects import (
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
    CertificateSigningRequestStatus,
)
from config.start_configuration import StartConfiguration
from runtime.api import Api, ApiError, list_objects, update
from runtime.api.access import read_access
from runtime.io.event_loop import LoopThread
from runtime.state.certificate_keys import CLIENT, LocalCertificateKeys, current_file
from runtime.state.config_files import configuration_of
from simulation.apiserver.front.tls import Authority

NODE = "worker-1"
HOUR = timedelta(hours=1)
LOOKS = 300
"""One after the other, until what is approved has been signed."""


@dataclass
class Joining:
    """A node that has nothing but bootstrap credentials, and somebody who may approve."""

    start: StartConfiguration
    loop: LoopThread
    admin: Api
    directory: Path

    def join(self, *, waits: bool) -> bool:
        """As an agent does at its start. `waits` False: it ends when nobody has approved at the first look."""
        looks = iter(range(LOOKS if waits else 0))
        return join_with_bootstrap(self.start, NODE, self.loop, time.time_ns(), lambda _: next(looks, None) is not None)

    def requests(self) -> tuple[CertificateSigningRequest, ...]:
        return self.admin.call(list_objects(CERTIFICATE_SIGNING_REQUESTS)).result(120).items

    def decide(self, request: CertificateSigningRequest, kind: str) -> None:
        condition = CertificateSigningRequestCondition(type=kind, status="True", reason="ByTest", message="so")
        status = CertificateSigningRequestStatus(conditions=(condition,))
        decided = msgspec.structs.replace(request, status=status)
        self.admin.call(update(CERTIFICATE_SIGNING_REQUESTS, "", decided, subresource="approval")).result(120)

    @property
    def key(self) -> Path:
        return self.directory / "pki" / "kubelet-client.key.tmp"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedApi]:
    place = tmp_path_factory.mktemp("api")
    options = ApiServerOptions(
        str(place / "keys"), str(place / "admin.kubeconfig"), node_authorizer=True, nodes=(NODE,)
    )
    (place / "keys").mkdir()
    with embedded_api(options) as made:
        yield made


@pytest.fixture
def joining(served: EmbeddedApi, tmp_path: Path) -> Iterator[Joining]:
    flags = (
        f"--kubeconfig={tmp_path}/kubelet.conf",
        f"--bootstrap-kubeconfig={served.node_kubeconfigs[NODE]}",
        f"--cert-dir={tmp_path}/pki",
    )
    with (
        closing(LoopThread("test")) as loop,
        closing(open_lines(read_access(served.kubeconfig), loop, KubeletConfiguration())) as lines,
    ):
        yield Joining(configuration_of(parse_flags(flags)), loop, lines.main, tmp_path)


# (spec 17.3.3)
def test_an_agent_that_begins_again_waits_for_the_request_of_the_one_before(joining: Joining) -> None:
    """An approval lets the node in, even an hour later or after a restart of the machine."""
    assert not joining.join(waits=False)
    (request,) = joining.requests()
    assert request.metadata.name.startswith("node-csr-")
    assert joining.key.stat().st_mode & 0o777 == 0o600
    assert not joining.join(waits=False)
    joining.decide(request, "Approved")
    assert joining.join(waits=True)
    assert [each.metadata.uid for each in joining.requests()] == [request.metadata.uid]
    assert not joining.key.exists()
    assert (joining.directory / "pki" / "kubelet-client-current.pem").exists()


def test_after_a_denial_the_next_agent_asks_anew(joining: Joining) -> None:
    before = {each.metadata.name for each in joining.requests()}
    assert not joining.join(waits=False)
    (asked,) = (each for each in joining.requests() if each.metadata.name not in before)
    assert asked.spec.signer_name == "kubernetes.io/kube-apiserver-client-kubelet"
    joining.decide(asked, "Denied")
    with pytest.raises(JoiningEnded, match=f"request {asked.metadata.name} for a certificate was denied: ByTest: so"):
        joining.join(waits=True)
    assert not joining.join(waits=False)
    assert len(joining.requests()) == len(before) + 2


class Refusing(BaseHTTPRequestHandler):
    """An API server that lets nobody ask."""

    code = 0

    def do_POST(self) -> None:
        body = json.dumps({"kind": "Status", "status": "Failure", "code": self.code, "message": "no"}).encode()
        self.send_response(self.code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (401, r"no .*; write a new token into its file \(`kubeadm token create`\)$"),
        (403, "no .*; bind the ClusterRole system:node-bootstrapper to the group system:bootstrappers$"),
    ],
)
def test_a_node_that_may_not_ask_ends_and_says_what_to_do(joining: Joining, code: int, says: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Server", (Refusing,), {"code": code})) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            own = joining.directory / "bootstrap.conf"
            own.write_bytes(kubeconfig_document(f"http://127.0.0.1:{server.server_port}", token="old"))
            node = msgspec.structs.replace(joining.start.node, bootstrap_kubeconfig=str(own))
            joining.start = replace(joining.start, node=node)
            with pytest.raises(JoiningEnded, match=says):
                joining.join(waits=True)
        finally:
            server.shutdown()
            thread.join()


def test_the_credentials_of_the_bootstrap_are_read_each_time(joining: Joining) -> None:
    """The token of the first start has expired when it is needed again. Somebody writes a new one."""
    path = joining.directory / "bootstrap.conf"
    given = Path(joining.start.node.bootstrap_kubeconfig)
    start = replace(joining.start, node=msgspec.structs.replace(joining.start.node, bootstrap_kubeconfig=str(path)))
    with closing(BootstrapCredentials(start, joining.loop)) as credentials:
        with pytest.raises(ValueError, match="No such file"):
            credentials.api()
        path.write_bytes(given.read_bytes())
        first = credentials.api()
        assert len(joining.requests()) == len(first.call(list_objects(CERTIFICATE_SIGNING_REQUESTS)).result(120).items)
        path.write_text(re.sub("token: .*", "token: old", path.read_text()))
        with pytest.raises(ApiError, match="Unauthorized"):
            credentials.api().call(list_objects(CERTIFICATE_SIGNING_REQUESTS)).result(120)


@pytest.mark.parametrize("inline", [True, False])
# (spec 17.3.4)
def test_an_expired_client_certificate_is_not_valid(joining: Joining, inline: bool) -> None:
    wall_ns = time.time_ns()
    keys = LocalCertificateKeys(str(joining.directory), CLIENT)
    signed = Authority(wall_ns).sign(keys.request("system:node:x", ()), server=False, wall_ns=wall_ns, lasts=HOUR)
    keys.accept(signed.encode())
    file = current_file(str(joining.directory), CLIENT)
    own = Pem(data=Path(file).read_text()) if inline else Pem(path=file)
    kubeconfig = Path(joining.start.node.kubeconfig)
    kubeconfig.write_bytes(kubeconfig_document("https://127.0.0.1:1", client_certificate=own, client_key=own))
    ask = partial(join_with_bootstrap, joining.start, NODE, joining.loop, pause=lambda _: False)
    assert ask(wall_ns=wall_ns)
    assert not ask(wall_ns=wall_ns + 2 * 3600 * 10**9)


DAMAGE = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
}


@pytest.mark.parametrize("file", ["kubeconfig", "certificate"])
@pytest.mark.parametrize("damage", DAMAGE)
# (spec 17.3.4)
def test_credentials_that_a_power_cut_has_torn_are_named_and_asked_for_anew(
    joining: Joining, damage: str, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    wall_ns = time.time_ns()
    keys = LocalCertificateKeys(str(joining.directory), CLIENT)
    signed = Authority(wall_ns).sign(keys.request("system:node:x", ()), server=False, wall_ns=wall_ns, lasts=HOUR)
    keys.accept(signed.encode())
    certificate, kubeconfig = Path(current_file(str(joining.directory), CLIENT)), Path(joining.start.node.kubeconfig)
    own = Pem(path=str(certificate))
    kubeconfig.write_bytes(kubeconfig_document("https://127.0.0.1:1", client_certificate=own, client_key=own))
    ask = partial(join_with_bootstrap, joining.start, NODE, joining.loop, wall_ns, lambda _: False)
    assert ask()
    torn = kubeconfig if file == "kubeconfig" else certificate
    torn.write_bytes(DAMAGE[damage](torn.read_bytes()))
    assert not ask(), "it waits for a new one"
    assert [each for each in caplog.messages if str(torn) in each and "cannot be used" in each], caplog.messages
