"""Which webhooks a request concerns."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from simulation.webhooks.matching import Asked, concerns

POD = {"metadata": {"name": "web", "labels": {"app": "web"}}}
ASKED = Asked("", "v1", "pods", "", "Pod", True, "shop", {"team": "a"}, {}, False, None, POD)
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


@pytest.mark.parametrize(
    ("webhook", "changes", "expected"),
    [
        ({}, {}, True),
        ({"operations": ["*"]}, {}, True),
        ({"operations": ["UPDATE"]}, {}, False),
        ({"operations": ["UPDATE"]}, {"old": POD}, True),
        ({"operations": ["DELETE"]}, {"old": POD, "new": None}, True),
        ({"apiGroups": ["apps"]}, {}, False),
        ({"apiVersions": ["v2"]}, {}, False),
        ({"resources": ["*"]}, {}, True),
        ({"resources": ["*"]}, {"part": "status"}, False),
        ({"resources": ["*/*"]}, {"part": "status"}, True),
        ({"resources": ["pods/*"]}, {"part": "status"}, True),
        ({"resources": ["*/status"]}, {"part": "status"}, True),
        ({"resources": ["*/status"]}, {}, False),
        ({"scope": "Cluster"}, {}, False),
        ({"scope": "Namespaced"}, {}, True),
        ({"objectSelector": {"matchLabels": {"app": "web"}}}, {}, True),
        ({"objectSelector": {"matchLabels": {"app": "db"}}}, {}, False),
        (
            {"objectSelector": {"matchLabels": {"app": "web"}}, "operations": ["*"]},
            {"old": POD, "new": {"metadata": {"name": "web"}}},
            True,
        ),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, {}, True),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}},
            {},
            False,
        ),
        ({"namespaceSelector": {"matchLabels": {"team": "b"}}}, {"namespaced": False, "namespace": ""}, True),
        (
            {"resources": ["*"], "apiGroups": ["*"]},
            {"group": "admissionregistration.k8s.io", "plural": "validatingwebhookconfigurations"},
            False,
        ),
    ],
)
def test_whom_a_request_concerns(webhook: dict[str, Any], changes: dict[str, Any], expected: bool) -> None:
    rule = {name: webhook.get(name, value) for name, value in {**RULE, "scope": "*"}.items()}
    selectors = {name: value for name, value in webhook.items() if name.endswith("Selector")}
    assert concerns({"rules": [rule], **selectors}, msgspec.structs.replace(ASKED, **changes)) is expected
