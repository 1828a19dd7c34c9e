"""Which pods the sync loop leaves alone, and until when."""

from __future__ import annotations

import pytest

from actors.messages import Operation, PodChanged
from actors.set_aside import FIRST_TRY_NS, TRY_AGAIN_NS, PodsFailed, SetAside
from config.objects import ObjectMeta, Pod, PodSpec, PodStatus

FIRST = Pod(metadata=ObjectMeta(name="web", namespace="shop", uid="u"), spec=PodSpec(node_name="here"))
SAME = Pod(metadata=FIRST.metadata, spec=FIRST.spec, status=PodStatus(phase="Pending"))
OTHER = Pod(metadata=FIRST.metadata, spec=PodSpec(node_name="there"))


def change(pod: Pod, operation: Operation = Operation.ADD) -> PodChanged:
    return PodChanged(operation, pod, "api")


def after(*pods: Pod) -> SetAside:
    """The book of the life after that many failures, each the end of one."""
    book = SetAside()
    for pod in pods:
        word = book.failed(pod, ValueError("a fault of the program"))
        assert word is not None
        book = SetAside()
        book.remember(word)
    return book


@pytest.mark.parametrize(
    ("failures", "met", "held"),
    [
        pytest.param((), change(FIRST), False, id="never failed"),
        pytest.param((FIRST,), change(FIRST), False, id="what happens once need not happen again"),
        pytest.param((FIRST, FIRST), change(FIRST), True, id="twice"),
        pytest.param((FIRST, SAME), change(FIRST, Operation.RECONCILE), True, id="whatever its status says"),
        pytest.param((FIRST, OTHER), change(OTHER), False, id="once each in two forms"),
        pytest.param((FIRST, FIRST), change(OTHER, Operation.UPDATE), False, id="it has changed"),
        pytest.param((FIRST, FIRST), change(FIRST, Operation.REMOVE), False, id="it goes"),
    ],
)
def test_a_pod_is_left_alone_that_has_failed_twice_in_one_form(failures: tuple[Pod, ...], met: PodChanged, held: bool):
    assert after(*failures).holds(met) == held


def test_it_is_met_once_more_after_a_while_and_left_alone_as_soon_as_it_fails_again():
    book = after(FIRST, FIRST)
    book.try_again()
    assert not book.holds(change(FIRST))
    word = book.failed(FIRST, ValueError("again"))
    assert word is not None
    assert list(SetAside().remember(word)) == ["u"]


def test_it_is_tried_after_a_minute_and_every_ten_minutes_then():
    book, waits = after(FIRST), []
    for _ in range(3):
        word = book.failed(FIRST, ValueError("again"))
        assert word is not None
        waits += [trouble.try_in_ns for trouble in book.remember(word).values()]
        book.try_again()
    assert waits == [FIRST_TRY_NS, TRY_AGAIN_NS, TRY_AGAIN_NS]


def test_one_failure_is_put_down_to_one_pod_and_those_before_it_are_not_forgotten():
    other = Pod(metadata=ObjectMeta(name="db", namespace="shop", uid="v"))
    book, failure = after(FIRST, FIRST), ValueError("it failed within another")
    word = book.failed(other, failure)
    assert book.failed(FIRST, failure) is None
    assert isinstance(word, PodsFailed)
    assert {uid: trouble.failures for uid, trouble in word.troubles.items()} == {"u": 2, "v": 1}
