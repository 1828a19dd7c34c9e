"""Which requests a rule allows, and what a role grants beyond the rules of its author."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.rbac.rules import Access, Rule, allows, uncovered

READ: Rule = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log"]}
NAMED: Rule = {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["*/scale"], "resourceNames": ["web"]}
PATHS: Rule = {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/api/*"]}
ALL: Rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        (READ, Access("get", "", "pods"), True),
        (READ, Access("get", "", "pods", "a"), True),
        (READ, Access("get", "", "pods/log"), True),
        (READ, Access("get", "", "pods/exec"), False),
        (READ, Access("delete", "", "pods"), False),
        (READ, Access("get", "apps", "pods"), False),
        (READ, Access("get", path="/api"), False),
        (NAMED, Access("get", "apps", "deployments/scale", "web"), True),
        (NAMED, Access("get", "apps", "deployments/scale", "other"), False),
        (NAMED, Access("get", "apps", "deployments/scale"), False),
        (NAMED, Access("get", "apps", "deployments", "web"), False),
        (ALL, Access("escalate", "rbac.authorization.k8s.io", "roles", "x"), True),
        (ALL, Access("get", path="/api"), False),
        (PATHS, Access("get", path="/healthz"), True),
        (PATHS, Access("get", path="/healthz/ping"), False),
        (PATHS, Access("get", path="/api/v1"), True),
        (PATHS, Access("get", path="/api"), False),
        (PATHS, Access("post", path="/api/v1"), False),
    ],
)
def test_what_a_rule_allows(rule: Rule, asked: Access, allowed: bool) -> None:
    assert allows(rule, asked) is allowed


@pytest.mark.parametrize(
    ("wanted", "held", "missing"),
    [
        ([READ], [ALL], []),
        ([READ], [READ], []),
        ([ALL], [READ], ['{APIGroups:["*"], Resources:["*"], Verbs:["*"]}']),
        ([NAMED], [{**NAMED, "resourceNames": []}], []),
        (
            [{**NAMED, "resourceNames": []}],
            [NAMED],
            ['{APIGroups:["apps"], Resources:["*/scale"], Verbs:["get"]}'],
        ),
        (
            [{**READ, "apiGroups": ["", "apps"]}],
            [{**READ, "verbs": ["get"]}],
            [
                '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
                '{APIGroups:[""], Resources:["pods/log"], Verbs:["list"]}',
                '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
                '{APIGroups:["apps"], Resources:["pods/log"], Verbs:["get" "list"]}',
            ],
        ),
        ([{**READ, "resourceNames": ["a", "b"]}], [{**READ, "resourceNames": ["a", "b", "c"]}], []),
        (
            [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["b", "a"]}],
            [],
            [
                '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}',
                '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}',
            ],
        ),
        ([PATHS], [PATHS], []),
        ([{"verbs": ["get"], "nonResourceURLs": ["/api/v1"]}], [PATHS], []),
        (
            [PATHS],
            [ALL],
            ['{NonResourceURLs:["/api/*"], Verbs:["get"]}', '{NonResourceURLs:["/healthz"], Verbs:["get"]}'],
        ),
    ],
)
def test_what_nobody_may_grant_who_does_not_have_it(wanted: Any, held: Any, missing: list[str]) -> None:
    """The words are those of a kube-apiserver."""
    assert uncovered(wanted, held) == missing
