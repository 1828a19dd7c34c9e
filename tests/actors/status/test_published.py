"""When the API shows the status of a pod as it should be."""

from __future__ import annotations

from typing import Any

from actors.status.published import Published
from config.objects import ObjectMeta, Pod, PodCondition, PodStatus


def shown(version: str, **condition: Any) -> Pod:
    """The pod in the API at that version."""
    status = PodStatus(phase="Running", conditions=(PodCondition(type="Ready", **condition),))
    return Pod(metadata=ObjectMeta(name="web", namespace="default", uid="u1", resource_version=version), status=status)


def test_a_condition_text_of_somebody_else_is_removed_once() -> None:
    """It is not removed if nobody knew of it, and not again from a server that keeps it."""
    computed = shown("0", status="False").status
    assert computed is not None
    known = Published(shown("1", status="True"), computed)
    known.seen = True
    known.note(shown("1", status="True"))
    answers = []
    for version in ("2", "3"):
        known.want()
        known.begin_write()
        known.wrote(shown(version, status="False", reason="Theirs"))
        answers.append(known.is_shown())
    assert answers == [False, True]
