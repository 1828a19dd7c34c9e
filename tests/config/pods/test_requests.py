"""What follows from the amounts in the spec of a pod."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from config.objects import PodSpec
from config.pods.requests import has_disk_limits


def limits(resource: str, amount: str = "1Mi") -> dict[str, Any]:
    return {"containers": [{"name": "app", "image": "i", "resources": {"limits": {resource: amount}}}]}


@pytest.mark.parametrize(
    ("spec", "limited"),
    [
        ({"volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}]}, True),
        ({"volumes": [{"name": "scratch", "emptyDir": {}}]}, False),
        (limits("ephemeral-storage"), True),
        (limits("ephemeral-storage", "much"), False),
        (limits("memory"), False),
    ],
)
def test_7_6_pods_with_limits_of_the_disk_are_told_from_those_without(spec: dict[str, Any], limited: bool):
    assert has_disk_limits(msgspec.convert(spec, PodSpec)) is limited
