"""The labels that a Job's pods get from the API server."""

from __future__ import annotations

from typing import Any

import pytest

from config.pods.job_selectors import select_own_pods

OWN = {
    "controller-uid": "u-1",
    "job-name": "once",
    "batch.kubernetes.io/controller-uid": "u-1",
    "batch.kubernetes.io/job-name": "once",
}


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "once", "uid": "u-1"}, "spec": spec}


@pytest.mark.parametrize(
    ("template", "labels"),
    [
        ({"spec": {}}, OWN),
        ({"spec": {}, "metadata": {"labels": None}}, OWN),
        ({"spec": {}, "metadata": {"labels": {"app": "a"}}}, {"app": "a", **OWN}),
    ],
)
def test_a_job_selects_its_pods_by_its_uid(template: dict[str, Any], labels: dict[str, str]):
    new = job(template=template, parallelism=2)
    select_own_pods(new)
    assert new["spec"]["template"]["metadata"]["labels"] == labels
    assert new["spec"]["template"]["spec"] == {}
    assert new["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    assert new["spec"]["parallelism"] == 2


@pytest.mark.parametrize(
    "spec", [{"manualSelector": True, "template": {}, "selector": {"matchLabels": {"a": "b"}}}, {}, {"template": None}]
)
def test_what_its_author_does_and_what_is_no_template_stay(spec: dict[str, Any]):
    new = job(**spec)
    select_own_pods(new)
    assert new == job(**spec)
