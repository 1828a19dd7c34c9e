"""kubectl and an admission webhook: its refusals and warnings are told as by a real server."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path

from actorlet.testing import cluster
from tests.kubectl.cluster import POD
from tests.kubectl.test_simulated_cluster import kubectl
from tests.simulation.webhooks.hooks import Hook


def test_kubectl_tells_what_a_webhook_says(tmp_path: Path) -> None:
    hook = Hook(tmp_path, time.time_ns(), "hooks.shop.svc")
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE", "DELETE"]}
    webhook = {
        "name": "check.example.com",
        "rules": [rule],
        "clientConfig": {"url": hook.url, "caBundle": hook.bundle},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "check"},
        "webhooks": [webhook],
    }
    with cluster() as found:
        ask = partial(kubectl, found, tmp_path)
        ask("apply", "-f", "-", stdin=json.dumps(configuration))
        denied = 'admission webhook "check.example.com" denied the request: not today'
        hook.answer = lambda request: {"allowed": False, "status": {"message": "not today", "code": 403}}
        assert denied in ask("apply", "-f", "-", stdin=POD, code=1)
        assert denied in ask("apply", "--dry-run=server", "-f", "-", stdin=POD, code=1)
        hook.answer = lambda request: {"allowed": True, "warnings": ["be careful"]}
        assert "Warning: be careful" in ask("apply", "-f", "-", stdin=POD)
        hook.answer = lambda request: {"allowed": False, "status": {"message": "not today", "code": 403}}
        assert denied in ask("delete", "pod", "web", code=1)
        ask("delete", "validatingwebhookconfiguration", "check")
        ask("delete", "pod", "web", "--wait=false")
    hook.close()
