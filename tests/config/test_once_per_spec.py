"""What is asked of a spec again is answered from memory, never with the answer of another one."""

from __future__ import annotations

import gc
import weakref

import msgspec
import pytest

from config.objects import Container, PodSpec
from config.once_per_spec import once_per_spec


def spec_of(name: str) -> PodSpec:
    return PodSpec(containers=(Container(name=name),))


def test_a_spec_is_worked_out_once() -> None:
    asked: list[str] = []

    @once_per_spec
    def first(spec: PodSpec) -> str:
        asked.append(spec.containers[0].name)
        return spec.containers[0].name

    web = spec_of("web")
    job = spec_of("job")
    assert [first(web), first(web), first(job)] == ["web", "web", "job"]
    assert asked == ["web", "job"]


def test_a_spec_that_was_made_of_another_has_its_own_answer() -> None:
    @once_per_spec
    def first(spec: PodSpec) -> str:
        return spec.containers[0].name

    web = spec_of("web")
    job = msgspec.structs.replace(web, containers=(Container(name="job"),))
    assert [first(each) for each in (web, job, web)] == ["web", "job", "web"]


def test_a_spec_that_comes_where_another_was_in_memory_has_its_own_answer() -> None:
    @once_per_spec
    def first(spec: PodSpec) -> str:
        return spec.containers[0].name

    places: set[int] = set()
    for number in range(200):
        spec = spec_of(f"c{number}")
        places.add(id(spec))
        assert first(spec) == f"c{number}"
    assert len(places) < 200, "no place was taken again, so this shows nothing"


def test_an_answer_goes_with_its_spec() -> None:
    class Answer:
        pass

    answer = once_per_spec(lambda _: Answer())
    spec = spec_of("web")
    kept = weakref.ref(answer(spec))
    assert kept() is not None
    del spec
    gc.collect()
    assert kept() is None


def test_a_failure_is_not_kept() -> None:
    failures = [ValueError("once"), None]

    @once_per_spec
    def work(_: PodSpec) -> int:
        failure = failures.pop(0)
        if failure is not None:
            raise failure
        return 7

    spec = spec_of("web")
    with pytest.raises(ValueError, match="once"):
        work(spec)
    assert work(spec) == 7
