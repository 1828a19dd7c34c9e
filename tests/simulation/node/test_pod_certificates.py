"""Certificates of pods on a whole node, in virtual time: PodCertificateRequest."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import Any

from actors.cluster.trust_rules import anchors_in
from config.kubelet.feature_gates import FeatureGates
from runtime.metrics.kubelet import POD_CERTIFICATES
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.test_config_volumes_of_api import files, using
from tests.simulation.node.worlds import SECOND

GATES = FeatureGates({"PodCertificateRequest": True})
REQUESTS = "/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SIGNER = "example.com/mesh"
HOUR = 60 * MINUTE
PROJECTION = {
    "signerName": SIGNER,
    "keyType": "ED25519",
    "credentialBundlePath": "both.pem",
    "keyPath": "key.pem",
    "certificateChainPath": "chain.pem",
    "userAnnotations": {"example.com/name": "web"},
}


def certified(**fields: Any) -> dict[str, Any]:
    projected = {"sources": [{"podCertificate": {**PROJECTION, **fields}}]}
    return using({"name": "own", "projected": projected})


class Signer:
    """A cluster whose test answers the requests of pods."""

    def __init__(self, gates: FeatureGates = GATES) -> None:
        self.cluster = Cluster(gates=gates)

    def open(self) -> list[dict[str, Any]]:
        found = self.cluster.ask("GET", REQUESTS)["items"]
        return [each for each in found if not (each.get("status") or {}).get("conditions")]

    def wait_for_request(self) -> dict[str, Any]:
        self.cluster.until(lambda: bool(self.open()), 10 * MINUTE)
        [request] = self.open()
        return request

    def answer(self, request: dict[str, Any], kind: str, **status: Any) -> None:
        now = self.time()
        condition = {"type": kind, "status": "True", "reason": "Why", "message": "so", "lastTransitionTime": now}
        path = f"{REQUESTS}/{request['metadata']['name']}/status"
        self.cluster.ask("PUT", path, {**request, "status": {"conditions": [condition], **status}})

    def issue(self, request: dict[str, Any], der: bytes, *, refresh_ns: int = HOUR, ends_ns: int = 2 * HOUR) -> None:
        chain = f"issued for you\n{ssl.DER_cert_to_PEM_cert(der)}"
        times = {"notBefore": self.time(), "beginRefreshAt": self.time(refresh_ns), "notAfter": self.time(ends_ns)}
        self.answer(request, "Issued", certificateChain=chain, **times)

    def time(self, later_ns: int = 0) -> str:
        wall_ns = self.cluster.dispatcher.wall_ns() + later_ns
        return datetime.fromtimestamp(wall_ns // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def chain(self, pod: str) -> list[bytes]:
        return list(anchors_in(files(self.cluster, pod, "/own")["chain.pem"]))


def states(signer: Signer) -> dict[str, float]:
    """State -> how many certificates `kubelet_podcertificate_states` shows."""
    [rows] = signer.cluster.node.node.meters.told(POD_CERTIFICATES)
    assert {row.labels[0] for row in rows.rows} <= {SIGNER}
    return {row.labels[1]: row.value for row in rows.rows}


# (spec 17.7.3)
def test_a_pod_waits_for_its_certificate_and_finds_it_with_its_key() -> None:
    signer = Signer()
    cluster = signer.cluster
    pod = cluster.create("web", **certified(maxExpirationSeconds=86400))
    request = signer.wait_for_request()
    spec = request["spec"]
    account = cluster.ask("GET", f"{ACCOUNTS}/default")
    assert spec.pop("pkixPublicKey")
    assert spec.pop("proofOfPossession")
    assert spec.pop("nodeUID") == cluster.ask("GET", "/api/v1/nodes/node")["metadata"]["uid"]
    assert spec == {
        "signerName": SIGNER,
        "podName": "web",
        "podUID": pod["metadata"]["uid"],
        "serviceAccountName": "default",
        "serviceAccountUID": account["metadata"]["uid"],
        "nodeName": "node",
        "maxExpirationSeconds": 86400,
        "unverifiedUserAnnotations": {"example.com/name": "web"},
    }
    assert request["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    cluster.run(2 * MINUTE)
    assert cluster.phases() == {"web": "Pending"}
    assert "FailedMount" in cluster.events("web")
    assert len(signer.open()) == 1, "one request at a time"
    assert states(signer) == {"not_yet_issued": 1}
    signer.issue(request, b"first" * 20)
    cluster.until(lambda: cluster.all_are("Running", 1))
    found = files(cluster, "web", "/own")
    assert found["chain.pem"] == ssl.DER_cert_to_PEM_cert(b"first" * 20), "text around certificates is dropped"
    assert found["key.pem"].startswith("-----BEGIN PRIVATE KEY-----")
    assert found["both.pem"] == found["key.pem"] + found["chain.pem"]


# (spec 17.7.3)
def test_a_certificate_is_renewed_with_a_new_key_and_the_old_one_stays_until_then() -> None:
    signer = Signer()
    cluster = signer.cluster
    cluster.create("web", **certified())
    signer.issue(signer.wait_for_request(), b"first" * 20)
    cluster.until(lambda: cluster.all_are("Running", 1))
    key = files(cluster, "web", "/own")["key.pem"]
    cluster.run(HOUR - 2 * MINUTE)
    assert not signer.open()
    request = signer.wait_for_request()
    cluster.run(20 * MINUTE)
    assert signer.chain("web") == [b"first" * 20]
    assert "CertificateOverdueForRefresh" in cluster.events("web")
    cluster.run(HOUR)
    assert cluster.events("web").count("CertificateExpired") == 1
    assert states(signer) == {"expired": 1}
    assert signer.chain("web") == [b"first" * 20]
    signer.issue(request, b"second" * 20)
    cluster.until(lambda: signer.chain("web") == [b"second" * 20])
    assert files(cluster, "web", "/own")["key.pem"] != key
    assert cluster.pods()["web"]["status"]["containerStatuses"][0]["restartCount"] == 0


def test_a_denied_request_is_told_and_is_final() -> None:
    signer = Signer()
    cluster = signer.cluster
    cluster.create("web", **certified())
    signer.answer(signer.wait_for_request(), "Denied")
    cluster.until(lambda: "Denied" in cluster.events("web"))
    cluster.run(30 * MINUTE)
    assert cluster.phases() == {"web": "Pending"}
    assert not signer.open()
    texts = [each["message"] for each in cluster.ask("GET", "/api/v1/events")["items"]]
    assert states(signer) == {"denied": 1}
    assert any('was permanently denied: reason="Why" message="so"' in text for text in texts)


def test_a_request_that_is_deleted_is_made_again_and_an_outage_only_delays() -> None:
    signer = Signer()
    cluster = signer.cluster
    cluster.create("web", **certified())
    request = signer.wait_for_request()
    cluster.ask("DELETE", f"{REQUESTS}/{request['metadata']['name']}")
    cluster.until(lambda: bool(signer.open()), 20 * MINUTE)
    cluster.api.go_down()
    cluster.run(10 * MINUTE)
    cluster.api.come_back()
    signer.issue(signer.wait_for_request(), b"first" * 20)
    cluster.until(lambda: cluster.all_are("Running", 1))


def test_an_agent_that_begins_again_asks_anew_and_a_pod_that_ends_is_forgotten() -> None:
    signer = Signer()
    cluster = signer.cluster
    cluster.create("web", **certified())
    signer.issue(signer.wait_for_request(), b"first" * 20)
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.node.restart_agent()
    request = signer.wait_for_request()
    assert signer.chain("web") == [b"first" * 20]
    assert cluster.phases() == {"web": "Running"}
    signer.issue(request, b"second" * 20)
    cluster.until(lambda: signer.chain("web") == [b"second" * 20])
    cluster.delete("web")
    cluster.until(lambda: not cluster.pods())
    cluster.run(3 * HOUR)
    assert not signer.open()
    assert states(signer) == {}


def test_a_node_whose_gate_is_off_refuses_the_volume() -> None:
    signer = Signer(FeatureGates({}))
    cluster = signer.cluster
    cluster.create("web", **certified())
    cluster.run(2 * MINUTE)
    assert cluster.phases() == {"web": "Pending"}
    assert "FailedMount" in cluster.events("web")
    assert not signer.open()
