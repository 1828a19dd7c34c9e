"""What is asked of a spec again is answered from memory, and never with the answer of another spec."""

from __future__ import annotations

import gc

from config.objects import Container, PodSpec
from config.once_per_spec import SPECS_AT_MOST, once_per_spec


def spec_of(name: str) -> PodSpec:
    return PodSpec(containers=(Container(name=name),))


def test_a_spec_is_worked_out_once() -> None:
    asked: list[str] = []

    @once_per_spec
    def first(spec: PodSpec) -> str:
        asked.append(spec.containers[0].name)
        return spec.containers[0].name

    web = spec_of("web")
    assert [first(web), first(web), first(spec_of("job"))] == ["web", "web", "job"]
    assert asked == ["web", "job"]


def test_a_spec_that_comes_where_another_was_in_memory_has_its_own_answer() -> None:
    @once_per_spec
    def first(spec: PodSpec) -> str:
        return spec.containers[0].name

    for number in range(2 * SPECS_AT_MOST):
        assert first(spec_of(f"c{number}")) == f"c{number}"


def test_of_specs_that_nobody_has_any_more_a_bounded_number_is_kept() -> None:
    @once_per_spec
    def answer(spec: PodSpec) -> int:
        return len(spec.containers)

    before = _specs_alive()
    for number in range(3 * SPECS_AT_MOST):
        answer(spec_of(f"c{number}"))
    assert _specs_alive() - before <= SPECS_AT_MOST


def _specs_alive() -> int:
    return sum(type(each) is PodSpec for each in gc.get_objects())
