"""What a storage driver is told, and what has to be true before it is asked, as tables."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from actors.node_object.csi_node import collision, is_of_another_node, next_csi_node, with_node_ids
from actors.volumes.claims.csi_rules import (
    DriverRules,
    IssuedToken,
    attach_wait,
    attachment_name,
    attachment_wait,
    ephemeral_handle,
    lifecycle_refusal,
    pod_info,
    rules_of,
    tokens_text,
)
from config.documents.codec import from_builtins
from config.frozen_map import FrozenMap
from config.objects import CSIDriver, CSINode, Node, ObjectMeta, Pod, PodSpec, VolumeAttachment
from runtime.csi.capability import NodeInfo

POD = Pod(metadata=ObjectMeta(name="web", namespace="ns", uid="u1"), spec=PodSpec())
NAME = "kubernetes.io/csi/d^h"
ID = "csi.volume.kubernetes.io/nodeid"


# (spec 8.8.4)
def test_names_that_everybody_makes_alike():
    assert ephemeral_handle(POD, "data") == f"csi-{hashlib.sha256(b'u1data').hexdigest()}"
    assert attachment_name("d", "h", "n") == f"csi-{hashlib.sha256(b'hdn').hexdigest()}"


def test_a_driver_without_an_object_is_attached_and_told_nothing():
    assert rules_of(None) == DriverRules()
    assert rules_of(None).attach
    spec = {"attachRequired": False, "podInfoOnMount": True, "requiresRepublish": True, "fsGroupPolicy": "File"}
    rules = rules_of(from_builtins({"spec": spec}, CSIDriver))
    assert (rules.attach, rules.pod_info, rules.republish, rules.fs_group_policy) == (False, True, True, "File")
    assert rules.lifecycles == ("Persistent",)


@pytest.mark.parametrize(
    ("rules", "ephemeral", "text"),
    [
        (DriverRules(), False, ""),
        (DriverRules(), True, "no CSIDriver object"),
        (DriverRules(known=True), True, 'volume mode "Ephemeral" not supported by driver d (only supports Persistent)'),
        (DriverRules(known=True, lifecycles=("Ephemeral",)), False, "only supports Ephemeral"),
        (DriverRules(known=True, lifecycles=("Ephemeral",)), True, ""),
    ],
)
def test_which_volumes_a_driver_makes(rules: DriverRules, ephemeral: bool, text: str):
    refusal = lifecycle_refusal("d", rules, ephemeral=ephemeral)
    assert text in refusal
    assert bool(refusal) is bool(text)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (None, "has not been added to the list of volumesInUse"),
        ({"volumesAttached": [{"name": NAME, "devicePath": ""}]}, "has not been added to the list of volumesInUse"),
        ({"volumesInUse": [NAME]}, "is not attached yet"),
        ({"volumesInUse": [NAME], "volumesAttached": [{"name": NAME, "devicePath": ""}]}, ""),
    ],
)
# (spec 8.4.2)
def test_a_volume_is_in_use_before_it_is_attached_and_attached_before_it_is_used(status: Any, text: str):
    wait = attach_wait(from_builtins({"status": status}, Node), NAME, "pv")
    assert text in wait
    assert bool(wait) is bool(text)


@pytest.mark.parametrize(
    ("meta", "status", "text"),
    [
        ({}, {"attached": True}, ""),
        ({}, {"attached": False}, "does not say so"),
        ({}, {"attached": False, "attachError": {"message": "no slot"}}, "cannot be attached: no slot"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"attached": True}, "is being detached"),
    ],
)
# (spec 8.4.2)
def test_a_volume_waits_until_its_attachment_is_attached(meta: dict[str, str], status: Any, text: str):
    attachment = from_builtins({"metadata": {"name": "a", **meta}, "status": status}, VolumeAttachment)
    wait = attachment_wait(attachment, "pv")
    assert text in wait
    assert bool(wait) is bool(text)


# (spec 8.8.7)
def test_a_driver_gets_pod_name_namespace_uid_and_account():
    told = pod_info(POD, ephemeral=True)
    assert told == {
        "csi.storage.k8s.io/pod.name": "web",
        "csi.storage.k8s.io/pod.namespace": "ns",
        "csi.storage.k8s.io/pod.uid": "u1",
        "csi.storage.k8s.io/serviceAccount.name": "default",
        "csi.storage.k8s.io/ephemeral": "true",
    }
    assert json.loads(tokens_text({"": IssuedToken("t", 10**9)})) == {
        "": {"token": "t", "expirationTimestamp": "1970-01-01T00:00:01Z"}
    }


# --- the node -----------------------------------------------------------------------------------------------------


# (spec 8.8.2)
def test_a_csi_node_keeps_what_it_says_of_others_and_loses_what_is_withdrawn():
    old = from_builtins(
        {
            "metadata": {"name": "n", "labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": {"drivers": [{"name": name, "nodeID": "x", "topologyKeys": []} for name in ("gone", "stays")]},
        },
        CSINode,
    )
    drivers = {"new": NodeInfo("id", 5, FrozenMap({"zone": "a"}))}
    node = next_csi_node(old, "n", "u", drivers, frozenset({"gone"}), ("kubernetes.io/gce-pd",))
    assert [driver.name for driver in node.spec.drivers] == ["new", "stays"]
    assert node.metadata.labels == {"a": "b"}
    assert node.metadata.annotations["storage.alpha.kubernetes.io/migrated-plugins"] == "kubernetes.io/gce-pd"
    assert [owner.uid for owner in node.metadata.owner_references] == ["u"]
    again = next_csi_node(node, "n", "u", drivers, frozenset({"gone"}), ("kubernetes.io/gce-pd",))
    assert again == node, "what is as it should be is not changed"
    assert not is_of_another_node(node, "u")
    assert is_of_another_node(node, "other")


def test_a_node_is_in_one_place():
    info = NodeInfo("id", 0, FrozenMap({"zone": "a"}))
    assert collision(info, "d", {}) == ""
    assert collision(info, "d", {"zone": "a"}) == ""
    assert "reported 'zone':'a' but existing label is 'zone':'b'" in collision(info, "d", {"zone": "b"})


@pytest.mark.parametrize(
    ("before", "ids", "withdrawn", "after"),
    [
        ({}, {"d": "1"}, (), {ID: '{"d":"1"}'}),
        ({ID: '{"a":"0"}'}, {"d": "1"}, (), {ID: '{"a":"0","d":"1"}'}),
        ({ID: '{"a":"0"}', "x": "y"}, {}, ("a",), {"x": "y"}),
        ({ID: "broken"}, {"d": "1"}, (), {ID: '{"d":"1"}'}),
        ({ID: '{"d":"1"}'}, {"d": "1"}, (), {ID: '{"d":"1"}'}),
    ],
)
# (spec 8.8.2)
def test_driver_node_ids_are_merged_into_the_node(before: Any, ids: Any, withdrawn: tuple[str, ...], after: Any):
    assert with_node_ids(before, ids, withdrawn) == after
