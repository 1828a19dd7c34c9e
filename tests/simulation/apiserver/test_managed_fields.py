"""Who owns which fields after a write, and what server-side apply makes of it.

A kube-apiserver 1.36.2 does the same.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulation.apiserver.requests.bodies import APPLY, JSON_PATCH
from tests.simulation.apiserver.custom.made import WIDGETS, defined, version, widget
from tests.simulation.apiserver.worlds import MERGE, PODS, SECOND_NS, STRATEGIC, Asked, Server, pod, typed

CORE, APPS = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default"
LAMP = f"{WIDGETS}/lamp"
MAP = f"{CORE}/configmaps/map"
LABELS = {"app": "dns"}
TCP, UDP = {"name": "tcp", "port": 53, "protocol": "TCP"}, {"name": "udp", "port": 53, "protocol": "UDP"}
DNS_PORTS = [{"name": one["name"], "containerPort": 53, "protocol": one["protocol"]} for one in (UDP, TCP)]
CONTAINER = {"name": "dns", "image": "registry.example/dns:1", "ports": DNS_PORTS}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}}
WORKLOAD = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
MINE: Any = {"f:data": {"f:a": {}}}
KUBECTLS = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.fixture
def server() -> Server:
    return Server()


def config_map(**data: str | None) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}, "data": data}


def apply(server: Server, value: Any, by: str, path: str = MAP, *, force: str = "") -> Asked:
    if force:
        return server.ask("PATCH", path, value, content_type=APPLY, fieldManager=by, force=force)
    return server.ask("PATCH", path, value, content_type=APPLY, fieldManager=by)


def owners(value: Any) -> dict[str, Any]:
    """`MANAGER OPERATION [PART]` -> the fields."""
    return {
        " ".join(filter(None, (one["manager"], one["operation"], one.get("subresource")))): one["fieldsV1"]
        for one in value["metadata"].get("managedFields", ())
    }


# --- writes that are no apply ---------------------------------------------------------------------------------------


def test_who_creates_an_object_owns_what_he_says_and_its_defaults(server: Server) -> None:
    made = server.ask("POST", PODS, pod("web", labels={"a": "b"}), fieldManager="me").value
    assert owners(made) == {
        "me Update": {
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"main"}': {
                        ".": {},
                        "f:image": {},
                        "f:imagePullPolicy": {},
                        "f:name": {},
                        "f:resources": {},
                        "f:terminationMessagePath": {},
                        "f:terminationMessagePolicy": {},
                    }
                },
                "f:dnsPolicy": {},
                "f:enableServiceLinks": {},
                "f:restartPolicy": {},
                "f:schedulerName": {},
                "f:securityContext": {},
                "f:terminationGracePeriodSeconds": {},
            },
        }
    }
    [entry] = made["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsType"], entry["time"]) == (
        "v1",
        "FieldsV1",
        made["metadata"]["creationTimestamp"],
    )


@pytest.mark.parametrize(
    ("agent", "name"), [("kubectl/v1.36.2 (linux/amd64)", "kubectl"), ("", "unknown"), ("a\x07b/1", "ab")]
)
def test_the_manager_is_the_program_that_asks(server: Server, agent: str, name: str) -> None:
    made = server.ask("POST", f"{CORE}/configmaps", config_map(a="1"), user_agent=agent).value
    assert list(owners(made)) == [f"{name} Update"]


def test_of_an_object_in_which_nobody_has_set_anything_later_updates_own_nothing(server: Server) -> None:
    server.ask("POST", f"{CORE}/configmaps", config_map(), fieldManager="maker")
    patched = server.ask("PATCH", MAP, {"data": {"a": "1"}}, content_type=MERGE, fieldManager="other").value
    assert "managedFields" not in patched["metadata"]


@pytest.mark.parametrize("media", [MERGE, STRATEGIC, JSON_PATCH])
def test_a_patch_takes_the_fields_that_it_changes(server: Server, media: str) -> None:
    server.ask("POST", f"{CORE}/configmaps", config_map(a="1", b="1"), fieldManager="maker")
    change: Any = {"data": {"a": "2"}}
    if media == JSON_PATCH:
        change = [{"op": "replace", "path": "/data/a", "value": "2"}]
    patched = server.ask("PATCH", MAP, change, content_type=media, fieldManager="patcher").value
    assert owners(patched) == {"maker Update": {"f:data": {".": {}, "f:b": {}}}, "patcher Update": MINE}


def test_a_field_that_goes_has_no_owner(server: Server) -> None:
    server.ask("POST", f"{CORE}/configmaps", config_map(a="1", b="1"), fieldManager="maker")
    put = server.ask("PUT", MAP, config_map(b="1"), fieldManager="other").value
    assert owners(put) == {"maker Update": {"f:data": {".": {}, "f:b": {}}}}


def test_the_time_is_that_of_the_last_change(server: Server) -> None:
    made = server.ask("POST", f"{CORE}/configmaps", config_map(a="1"), fieldManager="m").value
    server.world.run_for(5 * SECOND_NS)
    same = server.ask("PUT", MAP, config_map(a="1"), fieldManager="m").value
    assert same == made
    changed = server.ask("PUT", MAP, config_map(a="2"), fieldManager="m").value
    assert owners(changed) == owners(made)
    assert changed["metadata"]["managedFields"][0]["time"] > made["metadata"]["managedFields"][0]["time"]


def test_a_status_has_owners_of_its_own(server: Server) -> None:
    server.ask("POST", PODS, pod(), fieldManager="maker")
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    path = f"{PODS}/web/status"
    patched = server.ask("PATCH", path, status, content_type=STRATEGIC, fieldManager="agent").value
    own = owners(patched)["agent Update status"]["f:status"]
    times: dict[str, Any] = {"f:lastProbeTime": {}, "f:lastTransitionTime": {}}  # which Go writes as null
    assert own == {
        "f:conditions": {".": {}, 'k:{"type":"Ready"}': {".": {}, "f:status": {}, "f:type": {}, **times}},
        "f:phase": {},
    }
    again = server.ask("PATCH", f"{PODS}/web", {"status": {"phase": "Failed"}}, content_type=MERGE, fieldManager="x")
    assert again.value == patched, "the main resource changes no status"


def test_a_scale_owns_the_replicas_and_says_no_time(server: Server) -> None:
    spec = {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": TEMPLATE}
    server.ask("POST", f"{APPS}/deployments", {"metadata": {"name": "d"}, "spec": spec}, fieldManager="maker")
    path = f"{APPS}/deployments/d"
    server.ask("PATCH", f"{path}/scale", {"spec": {"replicas": 3}}, content_type=MERGE, fieldManager="scaler")
    value = server.get(path).value
    assert owners(value)["scaler Update scale"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owners(value)["maker Update"]["f:spec"]
    [entry] = [one for one in value["metadata"]["managedFields"] if one["manager"] == "scaler"]
    assert (entry["apiVersion"], "time" in entry) == ("apps/v1", False)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 4}}
    refused = apply(server, scale, "other", f"{path}/scale")
    assert (refused.code, refused.value["details"]["causes"][0]["field"]) == (409, ".spec.replicas")
    assert apply(server, scale, "other", f"{path}/scale", force="true").value["spec"] == {"replicas": 4}
    assert "other Apply scale" in owners(server.get(path).value)


def test_the_eleventh_manager_makes_the_oldest_two_one(server: Server) -> None:
    server.ask("POST", f"{CORE}/configmaps", config_map(m0="1"), fieldManager="m0")
    for number in range(1, 12):
        server.world.run_for(SECOND_NS)
        change = {"data": {f"m{number}": "1"}}
        server.ask("PATCH", MAP, change, content_type=MERGE, fieldManager=f"m{number}")
    found = owners(server.get(MAP).value)
    assert len(found) == 10
    assert found["ancient-changes Update"] == {"f:data": {".": {}, "f:m0": {}, "f:m1": {}, "f:m2": {}}}


@pytest.mark.parametrize("sent", [[], [{}]])
def test_managed_fields_are_cleared_on_demand(server: Server, sent: Any) -> None:
    server.ask("POST", f"{CORE}/configmaps", config_map(a="1"), fieldManager="maker")
    change = [{"op": "replace", "path": "/metadata/managedFields", "value": sent}]
    assert "managedFields" not in server.ask("PATCH", MAP, change, content_type=JSON_PATCH).value["metadata"]
    later = server.ask("PATCH", MAP, {"data": {"a": "2"}}, content_type=MERGE, fieldManager="x").value
    assert "managedFields" not in later["metadata"]
    applied = apply(server, config_map(b="1"), "mine").value
    assert set(owners(applied)) == {"before-first-apply Update", "mine Apply"}


@pytest.mark.parametrize("sent", [None, "text", [{"manager": "me"}], [{"manager": "m", "operation": "Odd"}]])
def test_wrong_managed_fields_in_a_body_count_as_none(server: Server, sent: Any) -> None:
    made = server.ask("POST", f"{CORE}/configmaps", config_map(a="1"), fieldManager="maker").value
    body = {**config_map(a="1"), "metadata": {"name": "map", "managedFields": sent}}
    assert server.ask("PUT", MAP, body, fieldManager="other").value == made


def test_a_client_may_write_managed_fields(server: Server) -> None:
    made = server.ask("POST", f"{CORE}/configmaps", config_map(a="1"), fieldManager="maker").value
    [entry] = made["metadata"]["managedFields"]
    body = {**made, "metadata": {**made["metadata"], "managedFields": [{**entry, "manager": "heir"}]}}
    assert set(owners(server.ask("PUT", MAP, body).value)) == {"heir Update"}


def test_lists_and_watches_have_them_and_metadata_too(server: Server) -> None:
    watched = server.watch(f"{CORE}/configmaps")
    made = server.ask("POST", f"{CORE}/configmaps", config_map(a="1"), fieldManager="maker").value
    assert made["metadata"]["managedFields"]
    [listed] = server.get(f"{CORE}/configmaps", fieldSelector="metadata.name=map").value["items"]
    assert typed(listed, "ConfigMap") == watched.events[-1][1] == made


def test_who_takes_the_last_finalizer_gets_the_object_without_it(server: Server) -> None:
    held = {**config_map(a="1"), "metadata": {"name": "map", "finalizers": ["example.com/held"]}}
    server.ask("POST", f"{CORE}/configmaps", held, fieldManager="maker")
    marked = server.ask("DELETE", MAP).value
    ended = server.ask("PATCH", MAP, {"metadata": {"finalizers": None}}, content_type=MERGE, fieldManager="maker").value
    assert "finalizers" not in ended["metadata"]
    assert "f:metadata" not in owners(ended)["maker Update"]
    assert ended["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]
    assert server.get(MAP).code == 404


# --- apply ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (
            f"{APPS}/deployments/dns",
            {"apiVersion": "apps/v1", "kind": "Deployment", "spec": WORKLOAD},
        ),
        (f"{CORE}/services/dns", {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [UDP, TCP]}}),
        (f"{CORE}/pods/dns", {"apiVersion": "v1", "kind": "Pod", "spec": TEMPLATE["spec"]}),
    ],
)
def test_a_port_of_two_protocols_is_applied_twice(server: Server, path: str, value: Any) -> None:
    """Case 03."""
    value = {**value, "metadata": {"name": "dns"}}
    first, again = apply(server, value, "kubectl", path), apply(server, value, "kubectl", path)
    assert (first.code, again.code) == (201, 200)
    assert again.value == first.value
    assert server.get(path).value == first.value


def test_apply_wants_a_manager_a_kind_and_no_managed_fields(server: Server) -> None:
    """Case 20."""
    value = config_map(a="1")
    nobody = server.ask("PATCH", MAP, value, content_type=APPLY)
    assert (nobody.code, nobody.message) == (
        422,
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )
    forced = server.ask("PATCH", MAP, {"data": {}}, content_type=MERGE, force="true")
    assert (forced.code, forced.value["details"]["causes"][0]["field"]) == (422, "force")
    for metadata, why in (
        ({"managedFields": []}, "metadata.managedFields must be nil"),
        ({"name": "other"}, "the name of the object (other) does not match the name on the URL (map)"),
    ):
        refused = apply(server, {**value, "metadata": {"name": "map", **metadata}}, "m")
        assert (refused.code, refused.message) == (400, why)
    odd = apply(server, {"metadata": {"name": "map"}}, "m")
    assert (odd.code, odd.message) == (400, "invalid object type: /, Kind=")
    uid = apply(server, {**value, "metadata": {"name": "map", "uid": "u"}}, "m")
    assert uid.code == 409
    assert "uid mismatch: the provided object specified uid u, and no existing object was found" in uid.message
    long = apply(server, value, "m" * 129)
    assert (long.code, long.value["details"]["kind"]) == (422, "PatchOptions")
    status = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "none"}, "status": {}}
    assert apply(server, status, "m", f"{PODS}/none/status").code == 404


def test_a_field_of_somebody_else_is_a_conflict_until_it_is_forced(server: Server) -> None:
    server.ask("POST", f"{CORE}/configmaps", config_map(a="1", b="1"), fieldManager="maker")
    apply(server, config_map(b="1"), "first")
    refused = apply(server, config_map(a="2", b="2"), "mine")
    assert refused.value == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Apply failed with 3 conflicts: "
        'conflicts with "first":\n- .data.b\nconflicts with "maker" using v1:\n- .data.a\n- .data.b',
        "reason": "Conflict",
        "details": {
            "causes": [
                {"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".data.b"},
                {"reason": "FieldManagerConflict", "message": 'conflict with "maker" using v1', "field": ".data.a"},
                {"reason": "FieldManagerConflict", "message": 'conflict with "maker" using v1', "field": ".data.b"},
            ]
        },
        "code": 409,
    }
    one = apply(server, config_map(a="2"), "mine")
    assert one.message == 'Apply failed with 1 conflict: conflict with "maker" using v1: .data.a'
    forced = apply(server, config_map(a="2", b="2"), "mine", force="true").value
    assert forced["data"] == {"a": "2", "b": "2"}
    assert owners(forced) == {"maker Update": {"f:data": {}}, "mine Apply": {"f:data": {"f:a": {}, "f:b": {}}}}


def test_what_an_applier_gives_up_goes_unless_somebody_else_owns_it(server: Server) -> None:
    apply(server, config_map(a="1", b="1", c="1"), "mine")
    apply(server, config_map(b="1"), "other")
    left = apply(server, config_map(c="1"), "mine").value
    assert left["data"] == {"b": "1", "c": "1"}
    assert owners(left) == {"mine Apply": {"f:data": {"f:c": {}}}, "other Apply": {"f:data": {"f:b": {}}}}


def test_an_item_goes_with_its_defaults(server: Server) -> None:
    path, spec = f"{APPS}/deployments/d", {"selector": {"matchLabels": LABELS}}
    value = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    both = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER, {"name": "side", "image": "i"}]}}
    apply(server, {**value, "spec": {**spec, "template": both}}, "mine", path)
    left = apply(server, {**value, "spec": {**spec, "template": TEMPLATE}}, "mine", path).value
    assert [one["name"] for one in left["spec"]["template"]["spec"]["containers"]] == ["dns"]
    assert left["metadata"]["generation"] == 2


def test_apply_of_what_is_there_adds_an_owner_and_no_generation(server: Server) -> None:
    spec = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
    made = server.ask("POST", f"{APPS}/deployments", {"metadata": {"name": "d"}, "spec": spec}, fieldManager="m").value
    value = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    shared = apply(server, value, "mine", f"{APPS}/deployments/d").value
    assert shared["metadata"]["generation"] == 1
    assert shared["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    [entry] = [one for one in shared["metadata"]["managedFields"] if one["manager"] == "mine"]
    assert "time" not in entry, "the object has not changed"
    assert apply(server, value, "mine", f"{APPS}/deployments/d").value == shared


def test_null_takes_a_value_away(server: Server) -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}}
    apply(server, {**value, "immutable": False, "data": {"a": "1"}}, "mine")
    left = apply(server, {**value, "immutable": None, "data": {"a": "1"}}, "mine").value
    assert "immutable" not in left


def test_a_version_in_the_configuration_is_a_precondition(server: Server) -> None:
    made = apply(server, config_map(a="1"), "mine").value
    value = config_map(a="2")
    value["metadata"]["resourceVersion"] = "1"
    assert apply(server, value, "mine").code == 409
    value["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    assert apply(server, value, "mine").code == 200


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({**config_map(), "odd": 1}, ".odd: field not declared in schema"),
        (
            {**config_map(), "metadata": {"name": "map", "finalizers": ["a/b", "a/b"]}},
            ".metadata.finalizers: duplicate entries for key",
        ),
    ],
)
def test_a_configuration_that_fits_no_type_is_refused(server: Server, value: Any, why: str) -> None:
    refused = apply(server, value, "m")
    assert refused.code == 400
    assert f"failed to create typed patch object (/map; /v1, Kind=ConfigMap): {why}" in refused.message


def test_kubectl_takes_over_from_its_client_side_apply(server: Server) -> None:
    said = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map"},"data":{"a":"1"}}\n'
    made = config_map(a="1", b="1")
    made["metadata"]["annotations"] = {KUBECTLS: said}
    server.ask("POST", f"{CORE}/configmaps", made, fieldManager="kubectl-client-side-apply")
    assert apply(server, config_map(a="2", b="1"), "other").code == 409
    refused = apply(server, config_map(a="2", b="2"), "kubectl")
    assert refused.message.endswith('conflict with "kubectl-client-side-apply" using v1: .data.b')
    taken = apply(server, config_map(a="2"), "kubectl").value
    assert taken["data"] == {"a": "2", "b": "1"}
    assert taken["metadata"]["annotations"][KUBECTLS] == (
        '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"map"}}\n'
    )


def test_custom_objects_are_applied_as_their_schema_says() -> None:
    text = {"type": "string"}
    spec = {
        "type": "object",
        "properties": {
            "size": text,
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "texts": {"type": "object", "additionalProperties": text, "x-kubernetes-map-type": "atomic"},
        },
    }
    server = defined(version(schema={"type": "object", "properties": {"spec": spec}}))
    first = apply(server, widget(spec={"any": {"x": {"y": [1]}}, "texts": {"a": "1"}}), "mine", LAMP)
    assert first.code == 201
    assert owners(first.value)["mine Apply"]["f:spec"] == {
        "f:any": {"f:x": {".": {}, "f:y": {}}},
        "f:texts": {},
    }
    refused = apply(server, widget(spec={"any": {"x": {"y": [2], "z": 1}}, "texts": {"b": "1"}}), "other", LAMP)
    assert [one["field"] for one in refused.value["details"]["causes"]] == [".spec.texts", ".spec.any.x.y"]
    made = server.ask(
        "POST", WIDGETS, {**widget(spec={"size": "s"}), "metadata": {"name": "made"}}, fieldManager="maker"
    ).value
    assert owners(made) == {"maker Update": {"f:spec": {".": {}, "f:size": {}}}}
    assert apply(server, widget(spec={"odd": 1}), "mine", LAMP).code == 400


def test_owners_of_an_event_are_those_of_the_version_in_which_they_wrote(server: Server) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "A", "message": "one"}
    server.ask("POST", f"{CORE}/events", event, fieldManager="maker")
    path, change = "/apis/events.k8s.io/v1/namespaces/default/events/e", {"metadata": {"labels": {"a": "b"}}}
    patched = server.ask("PATCH", path, change, content_type=MERGE, fieldManager="other").value
    assert owners(patched)["other Update"] == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
    assert {"f:message", "f:reason"} <= owners(patched)["maker Update"].keys()


NAMES = ("a", "b", "c")
DATA = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(("1", "2")), min_size=1)
APPLIES = st.lists(st.tuples(st.sampled_from(("one", "two")), DATA, st.booleans()), min_size=1, max_size=6)


@settings(deadline=None, max_examples=25)
@given(APPLIES)
def test_an_apply_again_changes_nothing_and_owners_share_only_what_they_agree_on(
    applies: list[tuple[str, dict[str, str], bool]],
) -> None:
    server, wanted = Server(), dict[str, dict[str, str]]()
    for manager, data, force in applies:
        done = apply(server, config_map(**data), manager, force="true" if force else "")
        if done.code == 409:
            continue
        again = apply(server, config_map(**data), manager).value
        assert again == done.value
        wanted[manager] = data
        have = again.get("data", {})
        assert data.items() <= have.items()
        owned = {name: set(fields.get("f:data", {})) for name, fields in owners(again).items()}
        for name, fields in owned.items():
            for field in fields - {"."}:
                assert wanted[name.split()[0]][field.removeprefix("f:")] == have[field.removeprefix("f:")]
        assert {f"f:{name}" for name in have} == set().union(*owned.values()) - {"."}
