"""What the sync loop knows of pods: who is next of a name, and who stays in quarantine until when."""

from __future__ import annotations

import pytest

from actors.messages.pods import Operation, PodChanged
from actors.sync.state import RETRIES_NS, NameLines, Quarantine, QuarantinedPod
from config.objects import ObjectMeta, Pod, PodSpec, PodStatus

# --- lines of those who wait for a name -------------------------------------------------------------------------------


def test_pods_wait_for_a_name_in_order_and_keep_their_place():
    lines = NameLines()
    for uid in ("a", "b", "a"):
        lines.join("web", uid)
    lines.join("other", "c")
    assert (lines.first("web"), lines.first("other"), lines.first("nobody's")) == ("a", "c", "")


def test_the_next_pod_gets_the_name_when_the_first_leaves():
    lines = NameLines()
    for uid in ("a", "b", "c"):
        lines.join("web", uid)
    assert lines.leave("web", "b") == "a"
    assert lines.leave("web", "a") == "c"
    assert lines.leave("web", "c") == ""
    assert lines.first("web") == ""


def test_a_pod_that_waits_for_no_name_leaves_no_line():
    lines = NameLines()
    lines.join("web", "a")
    assert lines.leave("web", "stranger") == ""
    assert lines.leave("other", "a") == ""
    assert lines.first("web") == "a"


def test_a_running_pod_goes_to_the_front_of_the_line_for_its_name():
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
def test_a_quarantined_pod_is_not_retried_in_the_same_form(failed: tuple[PodChanged, ...], met: PodChanged, held: bool):
    assert after(*failed).holds(met) == held


def test_a_quarantined_pod_is_retried_after_a_second_a_minute_and_then_every_ten_minutes():
    book = Quarantine()
    waits = [book.failed(change(each), FAULT).retry_in_ns for each in (FIRST, SAME, FIRST, FIRST)]
    assert waits == [*RETRIES_NS, RETRIES_NS[-1]]
    assert book.failed(change(OTHER), FAULT).retry_in_ns == RETRIES_NS[0], "in another form it is another pod"


def test_a_quarantined_pod_is_retried_with_its_newest_change():
    book = after(change(FIRST, Operation.UPDATE))
    book.holds(change(SAME, Operation.RECONCILE))
    quarantined = find(book)
    assert quarantined.change == change(SAME), "whoever meets it knows nothing of it"
    ending = book.failed(change(SAME, Operation.REMOVE), FAULT)
    assert (ending.change.operation, ending.failures) == (Operation.REMOVE, 2)


def test_a_quarantined_pod_that_succeeds_is_forgotten_unless_it_failed_again():
    book = after(change(FIRST))
    quarantined = find(book)
    book.failed(change(FIRST), FAULT)
    book.release(quarantined)
    assert book.form_of("u") == FIRST
    book.release(find(book))
    assert (book.form_of("u"), book.find("u")) == (None, None)
