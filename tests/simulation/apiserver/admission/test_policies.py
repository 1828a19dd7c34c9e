"""Policies of admission are stored."""

from __future__ import annotations

from tests.simulation.apiserver.worlds import Server

GROUP = "/apis/admissionregistration.k8s.io/v1"


def test_who_binds_a_policy_is_told_that_it_does_nothing() -> None:
    body = {"metadata": {"name": "one"}, "spec": {"policyName": "one", "validationActions": ["Deny"]}}
    made = Server().ask("POST", f"{GROUP}/validatingadmissionpolicybindings", body)
    said = "ValidatingAdmissionPolicyBinding: this server stores policies, but does not evaluate them"
    assert (made.code, made.warnings) == (201, (said,))
