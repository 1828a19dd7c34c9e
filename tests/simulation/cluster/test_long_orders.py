"""A long order: its caller waits for as long as the cluster's time moves, and no longer."""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys

import pytest

from actorlet import _cluster_process
from actorlet._cluster_process import ClusterError, ClusterProcess
from simulation.cluster import child

BUSY = r"""
import sys
for number, _ in enumerate(sys.stdin):
    print(f'\n\n{{"number": {number}}}\n', flush=True)
"""
SILENT = "import sys; sys.stdin.read()"


def process(program: str, monkeypatch: pytest.MonkeyPatch) -> contextlib.closing[ClusterProcess]:
    """A process of a cluster that runs this program instead."""
    monkeypatch.setattr(_cluster_process, "command", lambda _: [sys.executable, "-c", program])
    return contextlib.closing(ClusterProcess())


def test_beats_between_answers_are_no_answers(monkeypatch: pytest.MonkeyPatch):
    with process(BUSY, monkeypatch) as found:
        answers = [found.ask({"order": "step"}, 60) for _ in range(3)]
    assert [each["number"] for each in answers] == [0, 1, 2]


def test_a_cluster_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch):
    with process(SILENT, monkeypatch) as found, pytest.raises(ClusterError, match="has not answered 'step' for 0 s"):
        found.ask({"order": "step"}, 0)


@pytest.mark.parametrize(("times_ns", "beats"), [((1, 2, 3), 3), ((0, 0, 0), 0), ((1, 1, 2), 2)])
def test_there_is_a_beat_when_time_has_moved(monkeypatch: pytest.MonkeyPatch, times_ns: tuple[int, ...], beats: int):
    now_ns = 0
    moments = iter(times_ns)

    async def next_moment(_: float) -> None:
        nonlocal now_ns
        try:
            now_ns = next(moments)
        except StopIteration:
            raise asyncio.CancelledError from None

    monkeypatch.setattr(child, "leave_to_others", next_moment)
    answers = io.BytesIO()
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(child.beat(lambda: now_ns, answers))
    assert answers.getvalue() == beats * b"\n"
