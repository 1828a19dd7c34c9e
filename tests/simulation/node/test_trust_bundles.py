"""ClusterTrustBundleProjection: trust anchors in volumes of a whole node, in virtual time."""

from __future__ import annotations

import ssl
from typing import Any

from actors.cluster.trust_rules import anchors_in
from config.kubelet.feature_gates import FeatureGates
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.test_config_volumes_of_api import files, using
from tests.simulation.node.worlds import SECOND

GATES = FeatureGates({"ClusterTrustBundle": True, "ClusterTrustBundleProjection": True})
BUNDLES = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles"
SIGNER = "example.com/ca"
A, B, C = (letter.encode() * 100 for letter in "abc")


def bundle(name: str, *anchors: bytes, signer: str = "", **labels: str) -> dict[str, Any]:
    text = "".join(map(ssl.DER_cert_to_PEM_cert, anchors))
    spec = {"trustBundle": text, **({"signerName": signer} if signer else {})}
    metadata = {"name": name, "labels": labels}
    return {
        "apiVersion": "certificates.k8s.io/v1beta1",
        "kind": "ClusterTrustBundle",
        "metadata": metadata,
        "spec": spec,
    }


def trusting(**source: Any) -> dict[str, Any]:
    projection = {"clusterTrustBundle": {"path": "ca.pem", **source}}
    return using({"name": "trust", "projected": {"sources": [projection]}})


def anchors(cluster: Cluster, pod: str) -> list[bytes]:
    return list(anchors_in(files(cluster, pod, "/trust")["ca.pem"]))


# (spec 8.7.12)
def test_a_pod_waits_for_its_bundle_and_sees_each_change_of_it() -> None:
    cluster = Cluster(gates=GATES)
    cluster.create("web", **trusting(name="roots"))
    cluster.run(2 * MINUTE)
    assert cluster.phases() == {"web": "Pending"}
    assert "FailedMount" in cluster.events("web")
    cluster.ask("POST", BUNDLES, bundle("roots", A, B, A))
    cluster.until(lambda: cluster.all_are("Running", 1))
    first = anchors(cluster, "web")
    assert sorted(first) == [A, B]
    cluster.run(30 * MINUTE)
    assert anchors(cluster, "web") == first, "the order stays"
    cluster.ask("PUT", f"{BUNDLES}/roots", bundle("roots", C))
    cluster.until(lambda: anchors(cluster, "web") == [C])
    cluster.ask("DELETE", f"{BUNDLES}/roots")
    cluster.run(10 * MINUTE)
    assert anchors(cluster, "web") == [C], "a pod that runs keeps what it has"
    assert cluster.phases() == {"web": "Running"}


# (spec 8.7.12)
def test_bundles_of_a_signer_are_merged_by_their_labels() -> None:
    cluster = Cluster(gates=GATES)
    cluster.ask("POST", BUNDLES, bundle("example.com:ca:old", A, B, signer=SIGNER, live="yes"))
    cluster.ask("POST", BUNDLES, bundle("example.com:ca:off", C, signer=SIGNER, live="no"))
    cluster.create("web", **trusting(signerName=SIGNER, labelSelector={"matchLabels": {"live": "yes"}}))
    cluster.create("all", **trusting(signerName=SIGNER, labelSelector={}))
    cluster.create("none", **trusting(signerName=SIGNER, optional=True))
    cluster.until(lambda: cluster.all_are("Running", 3))
    assert sorted(anchors(cluster, "web")) == [A, B]
    assert sorted(anchors(cluster, "all")) == [A, B, C]
    assert anchors(cluster, "none") == [], "no selector selects nothing"
    cluster.ask("POST", BUNDLES, bundle("example.com:ca:new", B, C, signer=SIGNER, live="yes"))
    cluster.until(lambda: sorted(anchors(cluster, "web")) == [A, B, C])


def test_an_optional_bundle_is_an_empty_file_until_it_comes() -> None:
    cluster = Cluster(gates=GATES)
    cluster.create("web", **trusting(name="roots", optional=True))
    cluster.until(lambda: cluster.all_are("Running", 1))
    assert files(cluster, "web", "/trust") == {"ca.pem": ""}
    cluster.ask("POST", BUNDLES, bundle("roots", A))
    cluster.until(lambda: anchors(cluster, "web") == [A])


# (spec 8.7.12)
def test_a_node_whose_gate_is_off_refuses_the_volume_and_asks_nothing() -> None:
    cluster = Cluster()
    cluster.ask("POST", BUNDLES, bundle("roots", A))
    cluster.create("web", **trusting(name="roots", optional=True))
    cluster.run(MINUTE)
    assert cluster.phases() == {"web": "Pending"}
    assert "FailedMount" in cluster.events("web")
    assert not [verb for verb in cluster.api.calls if "clustertrustbundles" in verb]


def test_nobody_follows_bundles_before_a_pod_wants_one_and_an_outage_takes_no_file() -> None:
    cluster = Cluster(gates=GATES)
    cluster.run(MINUTE)
    assert not cluster.calls("list clustertrustbundles")
    cluster.ask("POST", BUNDLES, bundle("roots", A))
    cluster.create("web", **trusting(name="roots"))
    cluster.until(lambda: cluster.all_are("Running", 1))
    assert cluster.calls("list clustertrustbundles") == 1
    cluster.api.go_down()
    cluster.run(20 * MINUTE)
    assert anchors(cluster, "web") == [A]
    cluster.api.come_back()
    cluster.ask("PUT", f"{BUNDLES}/roots", bundle("roots", B))
    cluster.until(lambda: anchors(cluster, "web") == [B])
    assert cluster.pods()["web"]["status"]["containerStatuses"][0]["restartCount"] == 0
    assert cluster.dispatcher.now_ns() > 20 * MINUTE + SECOND
