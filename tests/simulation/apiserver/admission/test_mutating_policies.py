"""Policies of admission in CEL that change objects."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.validations.program import the_program
from tests.simulation.apiserver.worlds import MERGE, PODS, Asked, Server, pod

pytestmark = pytest.mark.skipif(the_program() is None, reason="actorlet[cel] is not installed")

GROUP = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
LABELS = "Object{metadata: Object.metadata{labels: {'added': 'yes'}}}"
COUNTS = "Object{data: {'log': object.?data.log.orValue('') + 'x'}}"


def mutation(expression: str) -> Any:
    """A patch if it begins with a bracket, else a configuration."""
    if expression.startswith("["):
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def bind(
    server: Server, *expressions: str, name: str = "p", rule: Any = None, binding: Any = None, **spec: Any
) -> None:
    """Add a policy and its binding."""
    usual = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps", "pods"]}
    whole = {
        "matchConstraints": {"resourceRules": [{**usual, **(rule or {})}]},
        "mutations": [mutation(each) for each in expressions],
        "reinvocationPolicy": "Never",
        **spec,
    }
    for plural, body in (
        ("mutatingadmissionpolicies", whole),
        ("mutatingadmissionpolicybindings", {"policyName": name, **(binding or {})}),
    ):
        made = server.ask("POST", f"{GROUP}/{plural}", {"metadata": {"name": name}, "spec": body})
        assert made.code == 201, made.value


def bound(*expressions: str, **more: Any) -> Server:
    server = Server()
    bind(server, *expressions, **more)
    return server


def create(server: Server, name: str = "one", **more: Any) -> Asked:
    return server.ask("POST", MAPS, {"metadata": {"name": name}, "data": {"a": "b"}, **more})


def test_a_configuration_is_merged_and_what_it_sets_belongs_to_nobody() -> None:
    made = create(bound(LABELS, "Object{data: {'c': object.metadata.labels.added}}")).value
    assert (made["metadata"]["labels"], made["data"]) == ({"added": "yes"}, {"a": "b", "c": "yes"})
    [entry] = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


def test_items_of_a_list_are_merged_by_their_keys_and_get_their_defaults() -> None:
    server = bound(
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'side', image: 'side:1'}, "
        "Object.spec.containers{name: 'main', env: [Object.spec.containers.env{name: 'A', value: 'B'}]}]}}"
    )
    side, main = server.ask("POST", PODS, pod()).value["spec"]["containers"]
    assert (main["image"], main["env"]) == ("nginx:1", [{"name": "A", "value": "B"}])
    assert (side["imagePullPolicy"], side["terminationMessagePath"]) == ("IfNotPresent", "/dev/termination-log")
    # The plugins before have their turn again.
    mounted = [[each["mountPath"] for each in one["volumeMounts"]] for one in (side, main)]
    assert mounted == [["/var/run/secrets/kubernetes.io/serviceaccount"]] * 2


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("Object{odd: 1}", "failed to convert patch object to typed object: .odd: field not declared in schema"),
        ("Object{metadata: Object.spec{}}", 'unexpected type name "Object.spec", expected "Object.metadata"'),
        ("Object{metadata: Object.metadata{managedFields: []}}", "structs: .metadata.managedFields"),
        ("Object{data: {'a': 1}}", "cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        ("Object{data: {'a': object.data.none}}", "resulted in error: no such key: none"),
        ("[JSONPatch{op: 'remove', path: '/data/none'}]", "JSON Patch: operation 0 (remove /data/none)"),
        ("[JSONPatch{op: 'add', path: '/metadata', value: Object.odd{a: Object.odd{}}}]", 'expected "Object.odd.a"'),
    ],
)
def test_a_mutation_that_cannot_be_made_refuses_the_request_or_is_left_out(expression: str, why: str) -> None:
    refused = create(bound(expression))
    assert (refused.code, refused.value["reason"]) == (403, "Invalid")
    assert refused.message.startswith("policy 'p' with binding 'p' denied request: ")
    assert why in refused.message
    made = create(bound(expression, LABELS, failurePolicy="Ignore")).value
    assert (made["data"], made["metadata"]["labels"]) == ({"a": "b"}, {"added": "yes"})


def test_atomic_parts_are_not_touched_by_a_configuration() -> None:
    server = bound("Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}")
    why = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs"
    assert server.ask("POST", PODS, pod()).message.endswith(f"{why}: .spec.nodeSelector")


def test_a_json_patch_escapes_keys_and_takes_constructed_values() -> None:
    server = bound(
        "[JSONPatch{op: 'test', path: '/data/a', value: 'b'}, "
        "JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('x/y'), value: 'z'}]"
    )
    assert create(server).code == 422, "a name with a slash is no key of a ConfigMap"
    server = bound("[JSONPatch{op: 'add', path: '/data', value: Object.data{c: 'd'}}]")
    assert create(server).value["data"] == {"c": "d"}


def test_a_json_patch_whose_test_fails_changes_nothing() -> None:
    server = bound(
        "[JSONPatch{op: 'test', path: '/data/a', value: 'no'}, JSONPatch{op: 'remove', path: '/data/a'}]", LABELS
    )
    made = create(server).value
    assert (made["data"], made["metadata"]["labels"]) == ({"a": "b"}, {"added": "yes"})


def test_a_json_patch_with_unknown_fields_is_refused() -> None:
    refused = create(bound("[JSONPatch{op: 'add', path: '/odd', value: 1}]"))
    assert (refused.code, refused.message) == (
        500,
        'Internal error occurred: strict decoding error: unknown field "odd"',
    )


def test_a_policy_runs_again_after_a_later_one_has_changed_the_object() -> None:
    server = bound("Object{data: {'seen': string(has(object.data.late))}}", reinvocationPolicy="IfNeeded")
    bind(server, "Object{data: {'late': 'yes'}}", name="q")
    assert create(server).value["data"] == {"a": "b", "seen": "true", "late": "yes"}


def test_a_policy_that_never_runs_again_runs_once() -> None:
    server = bound(COUNTS)
    bind(server, "Object{data: {'late': 'yes'}}", name="q", reinvocationPolicy="IfNeeded")
    assert create(server).value["data"]["log"] == "x"


def test_conditions_variables_and_parameters_are_read() -> None:
    server = bound(
        "Object{data: {'p': params.data.value + string(variables.size)}}",
        matchConditions=[{"name": "small", "expression": "object.data.size() < 2"}],
        variables=[{"name": "size", "expression": "object.data.size()"}],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        rule={"resourceNames": ["one", "large"]},
        binding={"paramRef": {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}},
    )
    assert "no params found for policy binding" in create(server).message
    create(server, "limits", data={"value": "v"})
    assert create(server).value["data"] == {"a": "b", "p": "v1"}
    assert create(server, "large", data={"a": "b", "c": "d"}).value["data"] == {"a": "b", "c": "d"}


def test_an_update_is_changed_and_a_deletion_goes_on() -> None:
    server = bound("Object{data: {'was': oldObject.data.a}}", rule={"operations": ["UPDATE"]})
    create(server)
    assert server.ask("PATCH", f"{MAPS}/one", {"data": {"a": "c"}}, content_type=MERGE).value["data"]["was"] == "b"
    assert server.ask("DELETE", f"{MAPS}/one").code == 200


def test_validating_policies_judge_what_mutating_ones_have_made() -> None:
    server = bound(LABELS)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    check = {"expression": "'added' in object.metadata.labels"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [check]}
    server.ask("POST", f"{GROUP}/validatingadmissionpolicies", {"metadata": {"name": "v"}, "spec": spec})
    binding = {"policyName": "v", "validationActions": ["Deny"]}
    server.ask("POST", f"{GROUP}/validatingadmissionpolicybindings", {"metadata": {"name": "v"}, "spec": binding})
    assert create(server).code == 201


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("{'a': 'b'}", "must evaluate to Object but got map(string, string)"),
        ("[JSONPatch{}][0]", "must evaluate to list(JSONPatch) but got JSONPatch"),
        ("[JSONPatch{op: 1}]", "<input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'"),
        ("Object{\n  spec: foo}", "<input>:2:9: undeclared reference to 'foo' (in container '')\n |   spec: foo}\n"),
        ("Object{a: variables.x}", "<input>:1:20: undefined field 'x'"),
    ],
)
def test_an_expression_that_does_not_compile_is_refused_as_it_was_written(expression: str, why: str) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [mutation(expression)],
        "reinvocationPolicy": "Never",
    }
    refused = Server().ask("POST", f"{GROUP}/mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    assert refused.code == 422
    assert why in refused.message
