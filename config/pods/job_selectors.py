"""The labels by which a Job knows its pods, as an API server fills them in. Pure."""

from __future__ import annotations

from typing import Any

UID, NAME = "controller-uid", "job-name"
PREFIX = "batch.kubernetes.io/"


def select_own_pods(job: dict[str, Any]) -> None:
    """Give the spec of a new Job a selector by its uid, and its pods the labels for that.

    With `manualSelector` the author has done so.
    """
    spec = job.get("spec") or {}
    if spec.get("manualSelector") or not isinstance(spec.get("template"), dict):
        return
    uid, template = job["metadata"]["uid"], spec["template"]
    own = {UID: uid, NAME: job["metadata"]["name"]}
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **own, **{PREFIX + name: value for name, value in own.items()}}
    selector = spec.get("selector") or {}
    matched = {**(selector.get("matchLabels") or {}), PREFIX + UID: uid}
    filled = {**template, "metadata": {**metadata, "labels": labels}}
    job["spec"] = {**spec, "selector": {**selector, "matchLabels": matched}, "template": filled}
