"""A node whose certificates the cluster signs: asked for, approved, renewed, denied."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.kernel import Promise, broken
from actors.messages.pods import FollowNode
from actors.node.certificate import CLIENT as CLIENT_PURPOSE
from actors.node.certificate import NodeCertificateActor
from config.kubelet import KubeletConfiguration
from runtime.api import Api, ApiCall, ApiError
from runtime.metrics.kubelet_api import CLIENT_RENEWAL_ERRORS, SERVER_CERTIFICATE_AGE, SERVER_RENEWAL_ERRORS
from runtime.metrics.meters import Meters
from runtime.state.certificate_keys import CLIENT, SERVER, HeldCertificate, LocalCertificateKeys
from simulation.apiserver.front.tls import Authority
from simulation.controllers.signer import Signer
from tests.actors.recorders import Recorder
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import SECOND

MINUTE = 60 * SECOND
CURRENT = "kubelet-server-current.pem"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
LASTS_MINUTES = 20


def cluster(directory: Path) -> Cluster:
    made = Cluster(
        configuration=KubeletConfiguration(server_tls_bootstrap=True),
        serving_keys=LocalCertificateKeys(str(directory), SERVER),
    )
    signed(made)
    return made


def signed(by: Cluster) -> Authority:
    """Let this authority sign the approved requests of this cluster."""
    authority = Authority(by.dispatcher.wall_ns())
    Signer(by.server, by.dispatcher, authority, timedelta(minutes=LASTS_MINUTES)).start()
    return authority


def requests(of: Cluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = of.ask("GET", REQUESTS)["items"]
    return found


def decide(of: Cluster, request: dict[str, Any], kind: str) -> None:
    condition = {"type": kind, "status": "True", "reason": "ByTest", "message": "so"}
    request = {**request, "status": {"conditions": [condition]}}
    of.ask("PUT", f"{REQUESTS}/{request['metadata']['name']}/approval", request)


# (spec 16.6, 17.2.2)
def test_a_certificate_is_asked_for_approved_and_lies_on_the_disk(tmp_path: Path) -> None:
    made = cluster(tmp_path)
    made.until(lambda: len(requests(made)) == 1)
    (request,) = requests(made)
    assert request["spec"]["signerName"] == "kubernetes.io/kubelet-serving"
    assert request["spec"]["usages"] == ["digital signature", "server auth"]
    made.run(2 * MINUTE)
    assert not (tmp_path / CURRENT).exists()
    assert len(requests(made)) == 1, "one at a time"
    decide(made, request, "Approved")
    made.until((tmp_path / CURRENT).exists)
    held = LocalCertificateKeys(str(tmp_path), SERVER).held()
    assert held is not None
    assert "node" in held.names
    assert (tmp_path / CURRENT).stat().st_mode & 0o777 == 0o600


def test_it_is_renewed_in_time_and_found_again_by_the_next_agent(tmp_path: Path) -> None:
    made = cluster(tmp_path)
    made.until(lambda: len(requests(made)) == 1)
    decide(made, requests(made)[0], "Approved")
    made.until((tmp_path / CURRENT).exists)
    first = (tmp_path / CURRENT).read_bytes()
    made.node.restart_agent()
    made.run(5 * MINUTE)
    assert len(requests(made)) == 1, "what is there is used"
    took = made.until(lambda: len(requests(made)) == 2, LASTS_MINUTES * MINUTE, SECOND)
    assert 0.7 * LASTS_MINUTES - 6 < took / MINUTE < 0.9 * LASTS_MINUTES
    (new,) = (each for each in requests(made) if not each.get("status"))
    decide(made, new, "Approved")
    made.until(lambda: (tmp_path / CURRENT).read_bytes() != first)
    assert len(list(tmp_path.glob("*.pem"))) == 2, "the key of before is gone"
    meters = made.node.node.meters
    assert meters.value(SERVER_CERTIFICATE_AGE) == 1, "the first one replaced none"
    assert meters.value(SERVER_RENEWAL_ERRORS) == 0


def test_a_request_that_was_denied_is_made_again_more_and_more_slowly(tmp_path: Path) -> None:
    made = cluster(tmp_path)
    for count in (1, 2, 3):
        made.until(lambda count=count: len(requests(made)) == count)  # type: ignore[misc]
        (new,) = (each for each in requests(made) if not each.get("status"))
        decide(made, new, "Denied")
    made.run(20 * SECOND)
    assert 3 <= len(requests(made)) <= 4
    assert made.node.node.meters.value(SERVER_RENEWAL_ERRORS) == 3
    assert not (tmp_path / CURRENT).exists()


def test_a_request_that_nobody_decides_about_is_made_anew(tmp_path: Path) -> None:
    made = cluster(tmp_path)
    made.until(lambda: len(requests(made)) == 1)
    made.until(lambda: len(requests(made)) == 2, 17 * MINUTE, SECOND)


class WithoutAddresses(LocalCertificateKeys):
    """As if the cluster left the addresses out of what it signs."""

    def accept(self, certificate: bytes) -> HeldCertificate:
        return msgspec.structs.replace(super().accept(certificate), names=("node",))


def test_a_name_missing_in_a_certificate_causes_no_repeated_requests(tmp_path: Path) -> None:
    keys = WithoutAddresses(str(tmp_path), SERVER)
    made = Cluster(configuration=KubeletConfiguration(server_tls_bootstrap=True), serving_keys=keys)
    signed(made)
    made.until(lambda: len(requests(made)) == 1)
    decide(made, requests(made)[0], "Approved")
    made.run(10 * MINUTE)
    assert len(requests(made)) == 1
    made.until(lambda: len(requests(made)) == 2, LASTS_MINUTES * MINUTE, SECOND)


# (spec 17.3.1)
def test_the_certificate_towards_the_api_server_is_renewed_in_time(tmp_path: Path) -> None:
    keys = LocalCertificateKeys(str(tmp_path), CLIENT)
    made = Cluster(configuration=KubeletConfiguration(rotate_certificates=True), client_keys=keys)
    lasts = timedelta(minutes=LASTS_MINUTES)
    wall_ns, first = made.dispatcher.wall_ns(), signed(made)
    keys.accept(first.sign(keys.request("system:node:node", ()), server=False, wall_ns=wall_ns, lasts=lasts).encode())
    made.run(5 * MINUTE)
    assert requests(made) == []
    took = made.until(lambda: len(requests(made)) == 1, LASTS_MINUTES * MINUTE, SECOND)
    assert 0.7 * LASTS_MINUTES - 6 < took / MINUTE < 0.9 * LASTS_MINUTES
    (request,) = requests(made)
    assert request["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client-kubelet"
    assert request["spec"]["usages"] == ["digital signature", "client auth"]
    before = (tmp_path / "kubelet-client-current.pem").read_bytes()
    decide(made, request, "Approved")
    made.until(lambda: (tmp_path / "kubelet-client-current.pem").read_bytes() != before)


class Unauthorized:
    """An API server that knows the caller no more."""

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Promise[Any]:
        return broken(ApiError(401, "Unauthorized", "Unauthorized", call.verb))

    def watch(self, *_: Any) -> Any:
        raise AssertionError("nobody watches requests")


class OneWay:
    """The bootstrap's credentials, which lead there; None: there are none now."""

    def __init__(self) -> None:
        self.way: Api | None = None
        self.opened = 0

    def api(self) -> Api:
        self.opened += 1
        if self.way is None:
            raise OSError("no such file: bootstrap.conf")
        return self.way


class Actors:
    """The actor of the certificate towards the API server alone, whose certificate ends after a minute."""

    def __init__(self, directory: Path, bootstrap: OneWay | None) -> None:
        self.made = Cluster()
        self.authority = signed(self.made)
        self.directory = str(directory)
        self.keys = LocalCertificateKeys(self.directory, CLIENT)
        self.put_in_place(timedelta(minutes=1))
        self.made.run(2 * MINUTE)
        system = self.made.node.node.system
        status, _ = Recorder.spawn_in(system, "status", FollowNode)
        self.meters = Meters()
        given = (CLIENT_PURPOSE, Unauthorized(), self.keys, "node", status, bootstrap, self.meters)
        system.spawn(NodeCertificateActor, *given, name="client-certificate")

    def put_in_place(self, lasts: timedelta) -> None:
        others = LocalCertificateKeys(self.directory, CLIENT)
        request, wall_ns = others.request("system:node:node", ()), self.made.dispatcher.wall_ns()
        others.accept(self.authority.sign(request, server=False, wall_ns=wall_ns, lasts=lasts).encode())

    def ends_in_ns(self) -> int:
        held = self.keys.held()
        return 0 if held is None else held.ends_ns - self.made.dispatcher.wall_ns()


# (spec 17.3.4)
def test_a_certificate_that_has_ended_is_replaced_with_the_credentials_of_the_bootstrap(tmp_path: Path) -> None:
    bootstrap = OneWay()
    world = Actors(tmp_path, bootstrap)
    made = world.made
    made.run(5 * MINUTE)
    assert bootstrap.opened > 3
    assert requests(made) == []
    bootstrap.way = made.api
    made.until(lambda: len(requests(made)) == 1)
    decide(made, requests(made)[0], "Approved")
    made.until(lambda: world.ends_in_ns() > 0)
    opened = bootstrap.opened
    made.run(5 * MINUTE)
    assert (len(requests(made)), bootstrap.opened) == (1, opened), "it is at peace"


def test_without_a_bootstrap_it_is_said_what_to_do_and_a_certificate_that_is_put_in_place_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = Actors(tmp_path, None)
    world.made.run(5 * MINUTE)
    assert "begin the agent with --bootstrap-kubeconfig, or put a valid one in its place" in caplog.text
    assert world.meters.value(CLIENT_RENEWAL_ERRORS) >= 5
    caplog.clear()
    world.put_in_place(timedelta(days=1))
    world.made.run(60 * MINUTE)
    assert caplog.text.count("cannot be asked for") == 0
