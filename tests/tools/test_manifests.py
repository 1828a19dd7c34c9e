"""What is told of the outcomes of manifests on two servers."""

from __future__ import annotations

from typing import Any

from tools.manifests import Objects, Outcome, Said, report

NAME = "ConfigMap. default/one"
TIMES = {"creationTimestamp": "2026-01-02T03:04:06Z", "uid": "0b0c3f3a-0000-4000-8000-000000000000"}


def one(version: str = "1", generation: int = 1, **parts: Any) -> Objects:
    metadata = {"name": "one", "resourceVersion": version, "generation": generation, **TIMES}
    return {NAME: {"kind": "ConfigMap", "metadata": metadata, **parts}}


def outcome(
    first: Objects, second: Objects | None = None, said: str = "one created\n", code: int = 0, err: str = ""
) -> Outcome:
    return Outcome((Said(code, said, err), Said(0, "one unchanged\n", "")), (first, second or first))


def test_versions_uids_times_and_the_order_of_conditions_are_no_difference() -> None:
    conditions = [{"type": "A"}, {"type": "B"}]
    real = one(status={"conditions": conditions})
    ours = one("77", status={"conditions": conditions[::-1]})
    ours[NAME]["metadata"] |= {"uid": "1b0c3f3a-0000-4000-8000-000000000000"}
    assert list(report(outcome(real), outcome(ours))) == []


def test_what_kubectl_says_on_one_server_alone_is_told() -> None:
    real, ours = outcome(one()), outcome(one(), said="one configured\n", code=1, err="Warning: odd\n")
    assert list(report(real, ours)) == [
        "apply 1: exit status 0 is 1",
        "apply 1: missing: one created",
        "apply 1: too much: one configured",
        "apply 1: too much: error: Warning: odd",
    ]


def test_a_second_apply_that_writes_on_one_server_alone_is_told() -> None:
    real, ours = outcome(one(), one("1")), outcome(one("5"), one("6", 2))
    assert list(report(real, ours)) == [
        f'apply 2: {NAME}: : another value: "generation +0" is "generation +1, written"',
        f"after apply 2: {NAME}: .metadata.generation: another value: 1 is 2",
    ]


def test_a_difference_in_what_is_read_is_told_once_with_its_values() -> None:
    real, ours = one(data={"a.b": {"c": [1, 2]}}), one(data={"a.b": {"c": [1, 3]}})
    ours |= {"ConfigMap. default/two": one()[NAME]}
    assert list(report(outcome(real), outcome(ours))) == [
        "apply 2: ConfigMap. default/two: too much",
        f"after apply 1: {NAME}: .data.a.b.c[1]: another value: 2 is 3",
        "after apply 1: ConfigMap. default/two: too much",
    ]
