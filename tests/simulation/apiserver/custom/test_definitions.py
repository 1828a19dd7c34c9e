"""Definitions of custom resources as clients send them.

Refusals with their reasons, names, versions, and deletion.
"""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.kinds.definitions import priority
from tests.simulation.apiserver.custom.made import (
    DEFINITIONS,
    NAME,
    SCHEMA,
    WIDGETS,
    define,
    defined,
    definition,
    make,
    version,
    widget,
)
from tests.simulation.apiserver.worlds import MERGE, Server

ONE = f"{DEFINITIONS}/{NAME}"


def test_a_definition_is_established_when_the_answer_comes() -> None:
    server = Server()
    made = define(server, names={"shortNames": ["wd"]}).value
    assert made["status"]["conditions"] is None, "the answer is from before, as that of a real server"
    found = server.get(ONE).value
    status = found["status"]
    (by_server,) = (one for one in found["metadata"]["managedFields"] if one["manager"] == "kube-apiserver")
    assert by_server["subresource"] == "status"
    assert "." not in by_server["fieldsV1"]["f:status"]["f:conditions"], "the list was there, and null"
    assert [(each["type"], each["status"], each["reason"]) for each in status["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    names = {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
        "shortNames": ["wd"],
    }
    assert status["acceptedNames"] == made["spec"]["names"] == names
    assert status["storedVersions"] == ["v1"]
    assert made["spec"]["conversion"] == {"strategy": "None"}
    assert made["metadata"]["generation"] == 1


def test_a_definition_in_a_group_of_kubernetes_says_who_approved_of_it() -> None:
    server, name, note = Server(), "widgets.lamps.k8s.io", "api-approved.kubernetes.io"
    body = definition(group="lamps.k8s.io")
    url = "https://example.com/pull/1"
    body["metadata"]["annotations"] = {note: "because"}
    refused = server.ask("POST", DEFINITIONS, body)
    assert (refused.code, refused.value["details"]["causes"][0]["field"]) == (422, f"metadata.annotations[{note}]")
    body["metadata"]["annotations"] = {note: url}
    assert server.ask("POST", DEFINITIONS, body).code == 201

    def told() -> list[Any]:
        conditions = server.get(f"{DEFINITIONS}/{name}").value["status"]["conditions"]
        return [(one["status"], one["reason"], one["message"]) for one in conditions if one["type"].startswith("Kube")]

    assert told() == [("True", "ApprovedAnnotation", f"approved in {url}")]
    change = {"metadata": {"annotations": {note: "unapproved, a test"}}}
    assert server.ask("PATCH", f"{DEFINITIONS}/{name}", change, content_type=MERGE).code == 200
    assert told() == [("False", "UnapprovedAnnotation", 'not approved: "unapproved, a test"')]


def test_the_service_of_a_conversion_webhook_has_a_port() -> None:
    client = {"service": {"namespace": "default", "name": "s"}}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    made = define(Server(), conversion={"strategy": "Webhook", "webhook": webhook}).value["spec"]["conversion"]
    assert made["webhook"]["clientConfig"]["service"] == {"namespace": "default", "name": "s", "port": 443}


def test_zeros_are_left_out_as_go_leaves_them_out_and_values_stay() -> None:
    kept = {"default": "", "type": "string", "enum": ["", "a"]}
    gone = {"nullable": False, "description": "", "required": [], "example": None, "x-kubernetes-list-map-keys": []}
    shown = {"type": "object", "x-kubernetes-preserve-unknown-fields": False}
    properties = {"color": {**kept, **gone}, "default": {**shown, **gone, "properties": {}}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    column = {"name": "C", "type": "string", "jsonPath": ".spec.color"}
    more: dict[str, Any] = {
        "deprecated": False,
        "additionalPrinterColumns": [{**column, "priority": 0, "description": ""}],
    }
    sent = {"versions": [version(schema=schema, **more, selectableFields=[])], "names": {"shortNames": []}}
    made = define(Server(), **sent).value["spec"]
    (one,) = made["versions"]
    assert one["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] == {"color": kept, "default": shown}
    assert one["additionalPrinterColumns"] == [column]
    assert not {"deprecated", "selectableFields"} & one.keys()
    assert "shortNames" not in made["names"]


COLUMN = {"name": "C", "type": "string", "jsonPath": ".spec.color"}


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"group": "", "name": NAME}, "spec.group", "Required value"),
        ({"group": "example"}, "spec.group", "should be a domain with at least one dot"),
        ({"group": "Example.com", "name": NAME}, "spec.group", "is not a DNS name"),
        (
            {"group": "apps.k8s.io"},
            "metadata.annotations[api-approved.kubernetes.io]",
            "protected groups must have approval annotation",
        ),
        ({"scope": ""}, "spec.scope", "Required value"),
        ({"scope": "Global"}, "spec.scope", 'Unsupported value: "Global": supported values: "Cluster", "Namespaced"'),
        ({"kind": ""}, "spec.names.kind", "Required value"),
        ({"plural": "Widgets", "name": NAME}, "spec.names.plural", "a DNS-1035 label must consist of lower case"),
        ({"names": {"listKind": "Widget"}}, "spec.names.listKind", "kind and listKind may not be the same"),
        ({"names": {"shortNames": ["W"]}}, "spec.names.shortNames[0]", "a DNS-1035 label"),
        ({"preserveUnknownFields": True}, "spec.preserveUnknownFields", "must be false"),
        (
            {"versions": [version(storage=False)]},
            "spec.versions",
            "must have exactly one version marked as storage version",
        ),
        ({"versions": [version(), version()]}, "spec.versions", "must contain unique version names"),
        ({"versions": [version("1")]}, "spec.versions[0].name", "a DNS-1035 label"),
        (
            {"versions": [{**version(), "schema": {}}]},
            "spec.versions[0].schema.openAPIV3Schema",
            "Required value: schemas are required",
        ),
        (
            {"versions": [version(schema={"type": "object", "properties": {"spec": {}}})]},
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].type",
            "Required value: must not be empty for specified object fields",
        ),
        (
            {"versions": [version(additionalPrinterColumns=[{**COLUMN, "type": "text"}])]},
            "spec.versions[0].additionalPrinterColumns[0].type",
            'Unsupported value: "text": supported values: "boolean", "date", "integer", "number", "string"',
        ),
        (
            {"versions": [version(additionalPrinterColumns=[{**COLUMN, "jsonPath": "spec.color"}])]},
            "spec.versions[0].additionalPrinterColumns[0].jsonPath",
            "is an invalid path",
        ),
        (
            {
                "versions": [
                    version(
                        subresources={"scale": {"specReplicasPath": ".status.x", "statusReplicasPath": ".status.y"}}
                    )
                ]
            },
            "spec.versions[0].subresources.scale.specReplicasPath",
            "should be a json path under .spec",
        ),
        (
            {"versions": [version(selectableFields=[{"jsonPath": ".spec.other"}])]},
            "spec.versions[0].selectableFields[0].jsonPath",
            "must point to a field of type boolean, integer, string",
        ),
        (
            {"conversion": {"strategy": "Webhook"}},
            "spec.conversion.webhookClientConfig",
            "required when strategy is set to Webhook",
        ),
        ({"conversion": {"strategy": "Webhook"}}, "spec.conversion.conversionReviewVersions", "Required value"),
        (
            {
                "conversion": {
                    "strategy": "Webhook",
                    "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v9"]},
                }
            },
            "spec.conversion.conversionReviewVersions",
            "must include at least one of v1, v1beta1",
        ),
        (
            {"conversion": {"strategy": "None", "webhook": {"clientConfig": {"url": "https://x.y"}}}},
            "spec.conversion.webhookClientConfig",
            "should not be set when strategy is not set to Webhook",
        ),
        ({"conversion": {"strategy": "Magic"}}, "spec.conversion.strategy", "Unsupported value"),
    ],
)
def test_what_is_refused(spec: dict[str, Any], field: str, message: str) -> None:
    refused = define(Server(), **spec)
    assert refused.code == 422, refused.value
    causes = [cause["message"] for cause in refused.value["details"]["causes"] if cause["field"] == field]
    assert any(message in cause for cause in causes), refused.value["details"]["causes"]


def test_the_name_is_that_of_the_resource() -> None:
    other = definition()
    other["metadata"]["name"] = "other.example.com"
    refused = Server().ask("POST", DEFINITIONS, other)
    assert refused.message == (
        'CustomResourceDefinition.apiextensions.k8s.io "other.example.com" is invalid: metadata.name: Invalid value: '
        '"other.example.com": must be spec.names.plural+"."+spec.group'
    )


def test_words_that_no_schema_has_are_warned_of_or_refused() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "proprietors": {}}}}
    place = "spec.versions[0].schema.openAPIV3Schema.properties.spec.proprietors"
    warned = define(Server(), version(schema=schema))
    assert warned.answer.warnings == (f'unknown field "{place}"',)  # type: ignore[union-attr]
    strict = Server().ask("POST", DEFINITIONS, definition(version(schema=schema)), fieldValidation="Strict")
    assert (strict.code, f'unknown field "{place}"' in strict.message) == (400, True)


def test_without_the_library_rules_in_cel_are_told_to_be_without_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulation.apiserver.core.the_program", lambda: None)
    schema = {**SCHEMA, "x-kubernetes-validations": [{"rule": "self.spec.replicas > 2"}]}
    place = "spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations"
    text = "this simulated server does not evaluate rules in CEL, as actorlet[cel] would: objects that break them are"
    server = Server()
    made = define(server, version(schema=schema))
    assert made.answer.warnings == (f"{place}: {text} accepted",)  # type: ignore[union-attr]
    make(server, spec={"replicas": 1})
    made = define(Server(), version(schema=schema), version("v2", schema=schema, storage=False))
    assert made.answer.warnings == (f"{place} and 1 more: {text} accepted",)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scope": "Cluster"}, "spec.scope"),
        ({"names": {"kind": "Gadget", "listKind": "GadgetList"}}, "spec.names.kind"),
        ({"names": {"plural": "gadgets"}}, "spec.names.plural"),
        ({"group": "other.example.com"}, "spec.group"),
    ],
)
def test_immutable_fields_of_a_definition_cannot_change(change: Any, field: str) -> None:
    refused = defined().ask("PATCH", ONE, {"spec": change}, content_type=MERGE)
    assert refused.code == 422
    causes = {cause["field"]: cause["message"] for cause in refused.value["details"]["causes"]}
    assert causes[field].endswith("field is immutable")


def test_a_version_that_was_stored_cannot_leave_before_it_is_said_to_be_unused() -> None:
    server = defined()
    both = [version(storage=False), version("v2")]
    changed = server.ask("PATCH", ONE, {"spec": {"versions": both}}, content_type=MERGE).value
    assert changed["status"]["storedVersions"] == ["v1", "v2"]
    only = {"spec": {"versions": [version("v2")]}}
    refused = server.ask("PATCH", ONE, only, content_type=MERGE)
    assert refused.message.endswith('status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions')
    server.ask("PATCH", f"{ONE}/status", {"status": {"storedVersions": ["v2"]}}, content_type=MERGE)
    assert server.ask("PATCH", ONE, only, content_type=MERGE).code == 200
    assert server.get(WIDGETS).code == 404


def test_a_definition_that_goes_takes_its_objects_along_and_watches_end() -> None:
    server = defined()
    make(server)
    watched, of_definitions = server.watch(WIDGETS), server.watch(DEFINITIONS)
    assert server.ask("DELETE", ONE).value["metadata"]["deletionTimestamp"]
    assert watched.told == ["ADDED lamp", "DELETED lamp"]
    assert watched.ends == [None]
    assert of_definitions.told[-1] == f"DELETED {NAME}"
    assert server.get(WIDGETS).code == 404
    assert define(server).code == 201
    assert server.get(WIDGETS).value["items"] == []


def test_a_deleted_definition_waits_for_its_objects_and_accepts_no_new_ones() -> None:
    server = defined()
    make(server, metadata={"finalizers": ["example.com/mine"]})
    server.ask("DELETE", ONE)
    conditions = {each["type"]: each for each in server.get(ONE).value["status"]["conditions"]}
    assert conditions["Terminating"]["reason"] == "InstanceDeletionInProgress"
    refused = server.ask("POST", WIDGETS, widget("late"))
    assert (refused.code, refused.value["reason"]) == (405, "MethodNotAllowed")
    server.ask("PATCH", f"{WIDGETS}/lamp", {"metadata": {"finalizers": None}}, content_type=MERGE)
    assert server.get(ONE).code == 404


def test_a_definition_gets_a_finalizer_with_its_deletion_and_goes_after_its_last_object() -> None:
    server = defined()
    make(server)
    body = definition()
    assert "must be specified for an update" in server.ask("PUT", ONE, body).message
    body["metadata"]["resourceVersion"] = server.get(ONE).value["metadata"]["resourceVersion"]
    replaced = server.ask("PUT", ONE, body)
    assert (replaced.code, "finalizers" in replaced.value["metadata"]) == (200, False)
    watched = server.watch(WIDGETS)
    marked = server.ask("DELETE", ONE)
    assert marked.value["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert watched.told == ["ADDED lamp", "DELETED lamp"]
    assert server.get(ONE).code == 404


def test_a_trial_defines_nothing() -> None:
    server = Server()
    assert server.ask("POST", DEFINITIONS, definition(), dryRun="All").code == 201
    assert server.get(WIDGETS).code == 404


def test_a_definition_is_known_to_its_own_server_only() -> None:
    assert defined().get(WIDGETS).code == 200
    assert Server().get(WIDGETS).code == 404


def test_versions_are_preferred_as_their_names_say() -> None:
    names = ["v1alpha1", "foo", "v2beta1", "v1", "v10", "v1beta2", "v11alpha2", "bar"]
    assert sorted(names, key=priority) == ["v10", "v1", "v2beta1", "v1beta2", "v11alpha2", "v1alpha1", "bar", "foo"]
