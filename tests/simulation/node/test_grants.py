"""`deploy/rbac.yaml` grants what agents ask for, and no more.

Every test of this folder shows that it grants enough, because their API server grants nothing else (`grants.py`). This
module shows that each grant is used: its nodes do all that agents do with an API server.
"""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from actors.kernel import SimulatedDispatcher
from config.kubelet import KubeletConfiguration
from config.kubelet.configuration import Authentication, Authorization
from runtime.http_server.auth.client_certificates import NOTHING, Shown
from runtime.http_server.auth.gate import AccessGate
from runtime.http_server.heads import HttpRefusal
from simulation.apiserver.server import ApiServer
from tests.simulation.node import (
    test_api_server,
    test_config_volumes_of_api,
    test_csi_nodes,
    test_pod_certificates,
    test_references,
    test_resource_claims,
    test_trust_bundles,
)
from tests.simulation.node.grants import Grant, GrantedApi, grant_for, grants
from tests.simulation.node.storage_cluster import CLAIMS, DRIVER, StorageCluster
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_serving_certificates import CURRENT, decide, requests
from tests.simulation.node.test_serving_certificates import cluster as with_serving_certificate
from tests.simulation.node.worlds import SECOND, manifest

ANN = Shown(
    {
        "subject": ((("commonName", "ann"),), (("organizationName", "system:masters"),)),
        "notAfter": "Jan  1 00:00:00 2100 GMT",
    }
)
LIVES = (
    test_api_server.test_a_deleted_pod_ends_and_its_object_goes,
    test_api_server.test_a_changed_manifest_changes_the_mirror_and_a_removed_one_takes_it_away,
    test_csi_nodes.test_a_driver_that_registers_is_seen_by_the_cluster_and_one_that_ends_is_not,
    test_csi_nodes.test_a_csi_node_of_an_earlier_node_of_the_name_is_made_anew,
    test_config_volumes_of_api.test_every_pod_of_a_cluster_finds_its_token,
    test_config_volumes_of_api.test_files_follow_their_object_and_outlive_it_and_go_with_their_pod,
    test_references.test_an_image_is_pulled_with_the_secret_of_the_pod,
    test_resource_claims.test_two_pods_share_a_claim_that_is_unprepared_once_when_both_have_ended,
    test_pod_certificates.test_a_denied_request_is_told_and_is_final,
    test_trust_bundles.test_an_optional_bundle_is_an_empty_file_until_it_comes,
)
"""Tests of other files, as examples of what nodes do.

Pods from the API and from manifests, drivers, tokens, maps, pull secrets.
"""


def a_volume_with_a_secret_is_attached_and_grows() -> None:
    cluster = StorageCluster()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "disk"}, "data": {"key": _base64("word")}}
    cluster.ask("POST", "/api/v1/namespaces/default/secrets", secret)
    cluster.claim()
    reference = {"name": "disk", "namespace": "default"}
    source = {"driver": DRIVER, "volumeHandle": "disk-claim", "nodePublishSecretRef": reference}
    cluster.bind(csi=source)
    cluster.make()
    cluster.until(lambda: bool(cluster.in_use()))
    with pytest.MonkeyPatch.context() as patch:
        cluster.grow_volume(patch)
        cluster.attach()
        cluster.until(lambda: cluster.phases() == {"web": "Running"})
        cluster.until(lambda: cluster.ask("GET", f"{CLAIMS}/claim")["status"]["capacity"]["storage"] == "2Gi")


def an_agent_without_watches_finds_its_node_and_a_mirror_with_a_taken_name() -> None:
    configuration = KubeletConfiguration(config_map_and_secret_change_detection_strategy="Get")
    cluster = Cluster(configuration=configuration)
    cluster.create("web-node", nodeName="elsewhere")
    cluster.node.put_manifest("web.yaml", manifest("web"))
    cluster.until(lambda: cluster.calls("get pods") > 0)
    test_references.put(cluster, test_references.MAPS, "ConfigMap", "settings", data={"COLOR": "blue"})
    test_references.put(cluster, test_references.SECRETS, "Secret", "login", data={"USER": _base64("ann")})
    cluster.create("shop", containers=[test_references.FROM_BOTH])
    cluster.until(lambda: test_references.runs(cluster, "shop"))
    cluster.node.restart_agent()
    cluster.run(5 * SECOND)


def a_certificate_is_asked_for(directory: Path) -> None:
    cluster = with_serving_certificate(directory)
    cluster.until(lambda: len(requests(cluster)) == 1)
    decide(cluster, requests(cluster)[0], "Approved")
    cluster.until(lambda: (directory / CURRENT).exists())


def the_http_server_asks_who_somebody_is_and_what_he_may() -> None:
    dispatcher = SimulatedDispatcher(1)
    api = GrantedApi(dispatcher, ApiServer(dispatcher))
    gate = AccessGate("node", Authentication(), Authorization(), api, (0.0,))
    with pytest.raises(HttpRefusal):
        asyncio.run(gate.admit("GET", "/pods", "Bearer wrong", NOTHING))
    asyncio.run(gate.admit("GET", "/pods", "", ANN))


# (spec 17.7.1)
def test_every_grant_is_used(tmp_path: Path) -> None:
    GrantedApi.used.clear()
    for life in LIVES:
        life()
    a_volume_with_a_secret_is_attached_and_grows()
    an_agent_without_watches_finds_its_node_and_a_mirror_with_a_taken_name()
    a_certificate_is_asked_for(tmp_path)
    the_http_server_asks_who_somebody_is_and_what_he_may()
    assert grants() - GrantedApi.used == set()


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        (Grant("get", "", "secrets", "default"), True),
        (Grant("delete", "", "secrets", "default"), False),
        (Grant("update", "coordination.k8s.io", "leases", "kube-node-lease"), True),
        (Grant("update", "coordination.k8s.io", "leases", "kube-system"), False),
        (Grant("get", "apps", "pods", "default"), False),
        (Grant("patch", "", "nodes"), False),
    ],
)
# (spec 17.7.1)
def test_the_cluster_role_grants_or_denies_each_call(asked: Grant, granted: bool) -> None:
    assert (grant_for(asked) is not None) is granted


def test_a_joining_node_may_only_request_a_certificate() -> None:
    group = "certificates.k8s.io"
    assert grants("actorlet-bootstrap") == {
        Grant("create", group, "certificatesigningrequests"),
        Grant("get", group, "certificatesigningrequests"),
    }
    assert grants("actorlet-bootstrap") <= grants()


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
