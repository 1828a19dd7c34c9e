"""What is asked of a spec again is answered from memory, never with the answer of another one."""

from __future__ import annotations

import gc
import weakref

import msgspec
import pytest

from config.objects import Container, PodSpec
from config.pods.once_per_spec import FACTS_AT_MOST, SPECS_AT_MOST, OncePerSpecAnd, once_per_spec


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


def test_all_answers_go_with_their_spec() -> None:
    class Answer:
        pass

    one, two = once_per_spec(lambda _: Answer()), once_per_spec(lambda _: Answer())
    spec = spec_of("web")
    kept = [weakref.ref(answer(spec)) for answer in (one, two)]
    assert all(each() is not None for each in kept)
    del spec
    gc.collect()
    assert all(each() is None for each in kept)


def test_none_is_cached_like_any_other_answer() -> None:
    asked: list[PodSpec] = []
    answer = once_per_spec(lambda spec: asked.append(spec))
    spec = spec_of("web")
    assert (answer(spec), answer(spec), len(asked)) == (None, None, 1)


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


def test_a_spec_objects_and_facts_decide_together() -> None:
    asked: list[str] = []
    names: OncePerSpecAnd[str] = OncePerSpecAnd()
    web, job, one = spec_of("web"), spec_of("job"), Container(name="one")

    def answer(spec: PodSpec, container: Container, fact: str) -> str:
        def work() -> str:
            asked.append(fact)
            return spec.containers[0].name + container.name + fact

        return names.of(spec, (container,), fact, work)

    for _ in range(2):
        assert answer(web, one, "1") == "webone1"
        assert answer(job, one, "1") == "jobone1"
        assert answer(web, one, "2") == "webone2"
    assert asked == ["1", "1", "2"]
    assert answer(web, Container(name="one"), "1") == "webone1"
    assert asked[3:] == ["1"], "an equal object is another one"


def test_an_object_that_comes_where_another_was_in_memory_has_its_own_answer() -> None:
    names: OncePerSpecAnd[str] = OncePerSpecAnd()
    web = spec_of("web")
    for number in range(2 * FACTS_AT_MOST):
        each = Container(name=f"c{number}")
        assert names.of(web, (each,), None, each.name.upper) == f"C{number}"
        del each


def test_the_answers_per_spec_are_bounded() -> None:
    numbers: OncePerSpecAnd[int] = OncePerSpecAnd()
    web = spec_of("web")
    for number in range(FACTS_AT_MOST):
        assert numbers.of(web, (), number, lambda number=number: number) == number  # type: ignore[misc]
    assert numbers.of(web, (), 0, lambda: -1) == 0
    assert numbers.of(web, (), FACTS_AT_MOST, lambda: FACTS_AT_MOST) == FACTS_AT_MOST
    assert numbers.of(web, (), 0, lambda: -1) == -1


def test_a_failure_with_facts_is_not_kept() -> None:
    answers: OncePerSpecAnd[int] = OncePerSpecAnd()
    web = spec_of("web")
    with pytest.raises(ZeroDivisionError):
        answers.of(web, (), None, lambda: 1 // 0)
    assert answers.of(web, (), None, lambda: 2) == 2


def test_the_answers_about_a_bounded_number_of_specs_are_kept() -> None:
    asked: list[str] = []

    @once_per_spec
    def first(spec: PodSpec) -> str:
        asked.append(spec.containers[0].name)
        return spec.containers[0].name

    oldest = spec_of("oldest")
    specs = [oldest, *(spec_of("web") for _ in range(SPECS_AT_MOST))]
    assert {first(spec) for spec in specs} == {"oldest", "web"}
    assert len(asked) == len(specs)
    assert first(specs[-1]) == "web"
    assert len(asked) == len(specs)
    assert first(oldest) == "oldest"
    assert len(asked) == len(specs) + 1
