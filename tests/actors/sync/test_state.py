"""What the sync loop knows of pods: who is next of a name, and who stays in quarantine until when."""

from __future__ import annotations

import pytest

from actors.messages.pods import Operation, PodChanged
from actors.sync.state import RETRIES_NS, NameLines, Quarantine, QuarantinedPod
from config.objects import ObjectMeta, Pod, PodSpec, PodStatus

# --- lines of those who wait for a name -------------------------------------------------------------------------------


def test_who_came_first_goes_first_and_who_asks_again_keeps_its_place():
    lines = NameLines()
    for uid in ("a", "b", "a"):
        lines.join("web", uid)
    lines.join("other", "c")
    assert (lines.first("web"), lines.first("other"), lines.first("nobody's")) == ("a", "c", "")


def test_when_one_leaves_it_is_the_turn_of_the_next_and_at_last_of_nobody():
    lines = NameLines()
    for uid in ("a", "b", "c"):
        lines.join("web", uid)
    assert lines.leave("web", "b") == "a"
    assert lines.leave("web", "a") == "c"
    assert lines.leave("web", "c") == ""
    assert lines.first("web") == ""


def test_who_stands_in_no_line_leaves_none():
    lines = NameLines()
    lines.join("web", "a")
    assert lines.leave("web", "stranger") == ""
    assert lines.leave("other", "a") == ""
    assert lines.first("web") == "a"


def test_what_runs_already_goes_ahead_of_who_waits_and_stays_where_it_is():
    lines = NameLines()
    lines.join("web", "a")
    lines.goes_first("web", "runs")
    lines.goes_first("web", "a")
    assert lines.leave("web", "runs") == "a"


# --- quarantine -------------------------------------------------------------------------------------------------------

FIRST = Pod(metadata=ObjectMeta(name="web", namespace="shop", uid="u"), spec=PodSpec(node_name="here"))
SAME = Pod(metadata=FIRST.metadata, spec=FIRST.spec, status=PodStatus(phase="Pending"))
OTHER = Pod(metadata=FIRST.metadata, spec=PodSpec(node_name="there"))
FAULT = ValueError("a fault of the program")


def change(pod: Pod, operation: Operation = Operation.ADD) -> PodChanged:
    return PodChanged(operation, pod, "api")


def after(*changes: PodChanged) -> Quarantine:
    """The book after a failure at each of these."""
    book = Quarantine()
    for each in changes:
        book.failed(each, FAULT)
    return book


def find(book: Quarantine) -> QuarantinedPod:
    quarantined = book.find("u")
    assert quarantined is not None
    return quarantined


@pytest.mark.parametrize(
    ("failed", "met", "held"),
    [
        pytest.param((), change(FIRST), False, id="never failed"),
        pytest.param((change(FIRST),), change(FIRST), True, id="failed"),
        pytest.param((change(FIRST),), change(SAME, Operation.RECONCILE), True, id="whatever its status says"),
        pytest.param((change(FIRST),), change(OTHER, Operation.UPDATE), False, id="it has changed"),
        pytest.param((change(FIRST),), change(FIRST, Operation.REMOVE), False, id="it goes"),
        pytest.param((change(FIRST, Operation.REMOVE),), change(FIRST), True, id="it came back after its end failed"),
    ],
)
def test_a_pod_is_left_alone_in_the_form_in_which_it_has_failed(
    failed: tuple[PodChanged, ...], met: PodChanged, held: bool
):
    assert after(*failed).holds(met) == held


def test_it_is_tried_after_a_second_after_a_minute_and_every_ten_minutes_then():
    book = Quarantine()
    waits = [book.failed(change(each), FAULT).retry_in_ns for each in (FIRST, SAME, FIRST, FIRST)]
    assert waits == [*RETRIES_NS, RETRIES_NS[-1]]
    assert book.failed(change(OTHER), FAULT).retry_in_ns == RETRIES_NS[0], "in another form it is another pod"


def test_what_is_tried_again_is_the_newest_that_there_is_to_do():
    book = after(change(FIRST, Operation.UPDATE))
    book.holds(change(SAME, Operation.RECONCILE))
    quarantined = find(book)
    assert quarantined.change == change(SAME), "whoever meets it knows nothing of it"
    ending = book.failed(change(SAME, Operation.REMOVE), FAULT)
    assert (ending.change.operation, ending.failures) == (Operation.REMOVE, 2)


def test_a_pod_that_did_no_harm_is_forgotten_unless_it_has_failed_once_more_meanwhile():
    book = after(change(FIRST))
    quarantined = find(book)
    book.failed(change(FIRST), FAULT)
    book.release(quarantined)
    assert book.form_of("u") == FIRST
    book.release(find(book))
    assert (book.form_of("u"), book.find("u")) == (None, None)
