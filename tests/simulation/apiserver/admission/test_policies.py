"""Policies of admission in CEL."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.validations.program import the_program
from tests.simulation.apiserver.worlds import MERGE, Asked, Server

GROUP = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
ANY_MAP = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "resources": ["configmaps"],
}
NEVER = {"expression": "false", "message": "never"}
needs_cel = pytest.mark.skipif(the_program() is None, reason="actorlet[cel] is not installed")


def bound(*checks: Any, binding: Any = None, rule: Any = None, **spec: Any) -> Server:
    """A server with one policy and one binding."""
    server, rules = Server(), {"resourceRules": [rule or ANY_MAP]}
    whole = {"matchConstraints": rules, "validations": list(checks), **spec}
    policy = server.ask("POST", f"{GROUP}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": whole})
    assert policy.code == 201, policy.value
    own = {"policyName": "p", "validationActions": ["Deny"], **(binding or {})}
    made = server.ask("POST", f"{GROUP}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": own})
    assert made.code == 201, made.value
    return server


def create(server: Server, name: str = "one", **more: Any) -> Asked:
    return server.ask("POST", MAPS, {"metadata": {"name": name}, **more})


@needs_cel
def test_a_request_that_a_policy_forbids_is_refused_with_its_reason() -> None:
    refused = create(bound({**NEVER, "reason": "Forbidden"}))
    why = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: never"
    assert (refused.code, refused.message) == (403, f'configmaps "one" is forbidden: {why}')
    assert create(bound({"expression": "1 > 2"})).message.endswith("denied request: failed expression: 1 > 2")
    assert create(bound({"expression": "1 > 2"})).code == 422


@needs_cel
@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("object.metadata.name == 'one' && oldObject == null", 201),
        ("request.operation == 'CREATE' && request.userInfo.username == 'kubernetes-admin'", 201),
        ("request.resource.resource == 'configmaps' && request.namespace == 'default'", 201),
        ("namespaceObject.metadata.name == 'default'", 201),
        ("object.metadata.__namespace__ == 'default'", 201),
        ("has(object.data)", 422),
    ],
)
def test_an_expression_reads_the_request(expression: str, code: int) -> None:
    assert create(bound({"expression": expression})).code == code


@needs_cel
def test_conditions_and_variables_are_evaluated_first() -> None:
    check = {
        "expression": "variables.most > object.data.size()",
        "messageExpression": "'at most ' + string(variables.most)",
    }
    conditions = [{"name": "has-data", "expression": "has(object.data)"}]
    variables = [{"name": "one", "expression": "1"}, {"name": "most", "expression": "variables.one + 1"}]
    server = bound(check, matchConditions=conditions, variables=variables)
    assert create(server).code == 201
    assert create(server, "small", data={"a": "b"}).code == 201
    assert create(server, "large", data={"a": "b", "c": "d"}).message.endswith("denied request: at most 2")


@needs_cel
def test_an_expression_that_fails_counts_as_the_policy_says() -> None:
    check = {"expression": "object.data.size() > 0"}
    assert "resulted in error: " in create(bound(check)).message
    assert create(bound(check, failurePolicy="Ignore")).code == 201


@needs_cel
def test_a_binding_may_warn_only_and_mean_less_than_its_policy() -> None:
    warned = create(bound(NEVER, binding={"validationActions": ["Warn"]}))
    said = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': never"
    assert (warned.code, warned.warnings) == (201, (said,))
    elsewhere = {"matchResources": {"namespaceSelector": {"matchLabels": {"a": "b"}}}}
    assert create(bound(NEVER, binding=elsewhere)).code == 201
    assert create(bound(NEVER, rule={**ANY_MAP, "resourceNames": ["other"]})).code == 201


@needs_cel
def test_a_deletion_has_no_object() -> None:
    server = bound({"expression": "object != null || oldObject.metadata.name != 'kept'"})
    for name, code in (("kept", 422), ("free", 200)):
        assert create(server, name).code == 201
        assert server.ask("DELETE", f"{MAPS}/{name}").code == code


@needs_cel
def test_parameters_of_a_binding_are_read() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    check = {"expression": "object.metadata.name != params.data.bad"}
    rule = {**ANY_MAP, "resources": ["secrets"]}
    reference = {"paramRef": {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}}
    server, secrets = bound(check, paramKind=kind, rule=rule, binding=reference), "/api/v1/namespaces/default/secrets"
    assert "no params found" in server.ask("POST", secrets, {"metadata": {"name": "one"}}).message
    create(server, "limits", data={"bad": "one"})
    assert server.ask("POST", secrets, {"metadata": {"name": "one"}}).code == 422
    assert server.ask("POST", secrets, {"metadata": {"name": "two"}}).code == 201


@needs_cel
def test_a_wrong_policy_can_be_taken_away() -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    server = bound(NEVER, rule=everything)
    assert create(server).code == 422
    assert server.ask("DELETE", f"{GROUP}/validatingadmissionpolicies/p").code == 200
    assert create(server).code == 201


@needs_cel
def test_a_policy_that_cannot_be_evaluated_is_stored_with_a_warning() -> None:
    server = Server()
    spec = {
        "matchConstraints": {"resourceRules": [ANY_MAP]},
        "validations": [{"expression": "authorizer.path('/').check('get').allowed()"}],
    }
    made = server.ask("POST", f"{GROUP}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    said = "ValidatingAdmissionPolicy: it is stored, but this server cannot evaluate it"
    assert (made.code, made.warnings) == (201, (said,))
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    server.ask("POST", f"{GROUP}/validatingadmissionpolicybindings", binding)
    assert create(server).code == 201


def test_without_the_library_policies_are_kept_and_whoever_writes_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulation.apiserver.core.the_program", lambda: None)
    server = Server()
    bodies = {
        "mutatingadmissionpolicybindings": {"policyName": "one"},
        "mutatingadmissionpolicies": {
            "matchConstraints": {"resourceRules": [{**ANY_MAP, "operations": ["CREATE"]}]},
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "not CEL"}}],
            "reinvocationPolicy": "Never",
        },
        "validatingadmissionpolicies": {
            "matchConstraints": {"resourceRules": [ANY_MAP]},
            "validations": [{"expression": "not CEL"}],
        },
    }
    for plural, spec in bodies.items():
        made = server.ask("POST", f"{GROUP}/{plural}", {"metadata": {"name": "one"}, "spec": spec})
        said = f"{made.value['kind']}: it is stored, but this server cannot evaluate it"
        assert (made.code, made.warnings) == (201, (said,))
    assert create(server).code == 201


@needs_cel
@pytest.mark.parametrize(
    ("check", "place", "why"),
    [
        ({"expression": "1"}, "expression", 'Invalid value: "1": must evaluate to bool but got int'),
        ({"expression": "object.x"}, "expression", 'Invalid value: "object.x": must evaluate to bool but got dyn'),
        ({"expression": "true", "messageExpression": "1"}, "messageExpression", "must evaluate to string but got int"),
        ({"expression": "params.x == 1"}, "expression", "undeclared reference to 'params' (in container '')"),
        ({"expression": "request.odd == 1"}, "expression", "ERROR: <input>:1:8: undefined field 'odd'"),
        ({"expression": "variables.odd == 1"}, "expression", "ERROR: <input>:1:10: undefined field 'odd'"),
        ({"expression": " "}, "expression", "Required value: expression is not specified"),
    ],
)
def test_an_expression_that_does_not_compile_is_refused_with_its_place(check: Any, place: str, why: str) -> None:
    spec = {
        "matchConstraints": {"resourceRules": [ANY_MAP]},
        "variables": [{"name": "one", "expression": "1"}],
        "validations": [check],
    }
    refused = Server().ask("POST", f"{GROUP}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    [cause] = refused.value["details"]["causes"]
    assert (refused.code, cause["field"]) == (422, f"spec.validations[0].{place}")
    assert why in cause["message"]


@needs_cel
@pytest.mark.parametrize("kind", ["mutating", "validating"])
def test_a_condition_of_a_webhook_that_does_not_compile_is_refused(kind: str) -> None:
    webhook = {
        "name": "one.example.com",
        "clientConfig": {"url": "https://localhost:9/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "matchConditions": [{"name": "good", "expression": "true"}, {"name": "bad", "expression": "... [] bad"}],
    }
    body = {"metadata": {"name": "one"}, "webhooks": [webhook]}
    refused = Server().ask("POST", f"{GROUP}/{kind}webhookconfigurations", body)
    [cause] = refused.value["details"]["causes"]
    assert (refused.code, cause["field"]) == (422, "webhooks[0].matchConditions[1].expression")
    assert "compilation failed: ERROR: <input>:1:2: Syntax error" in cause["message"]


@needs_cel
def test_a_variable_that_cannot_be_evaluated_here_may_be_read() -> None:
    spec = {
        "matchConstraints": {"resourceRules": [ANY_MAP]},
        "variables": [{"name": "most", "expression": "quantity('1Gi')"}],
        "validations": [{"expression": "variables.most.isGreaterThan(quantity('1Mi'))"}, {"expression": "1 == 1"}],
    }
    made = Server().ask("POST", f"{GROUP}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    said = "ValidatingAdmissionPolicy: it is stored, but this server cannot evaluate it"
    assert (made.code, made.warnings) == (201, (said,))


@needs_cel
def test_a_fault_of_a_variable_is_told_to_whom_reads_it() -> None:
    server = bound(
        {"expression": "object.metadata.name != 'all' || variables.wrong"},
        variables=[{"name": "wrong", "expression": "object.data.none == 'a'"}],
    )
    assert create(server).code == 201
    why = 'resulted in error: composited variable "wrong" fails to evaluate: no such key: data'
    assert create(server, "all").message.endswith(why)


@needs_cel
def test_an_update_is_judged_with_the_object_before() -> None:
    server = bound({"expression": "oldObject == null || oldObject.data.a == object.data.a", "message": "a is fixed"})
    assert create(server, data={"a": "b"}).code == 201
    refused = server.ask("PATCH", f"{MAPS}/one", {"data": {"a": "c"}}, content_type=MERGE)
    assert (refused.code, refused.message.endswith("denied request: a is fixed")) == (422, True)
