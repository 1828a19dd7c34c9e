"""Which verdicts of probes are news: those that change what is decided, or shown."""

from __future__ import annotations

import pytest

from actors.model.observed import NO_RESULTS, ProbeResults, say_the_same
from config.frozen_map import FrozenMap

NOTHING_YET = ProbeResults(active=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NOTHING_YET, ProbeResults(active=True)),
        (NOTHING_YET, ProbeResults(active=True, readiness=FrozenMap({"a": False}))),
        (NOTHING_YET, ProbeResults(active=True, liveness=FrozenMap({"a": True}))),
        (
            ProbeResults(active=True, readiness=FrozenMap({"a": True, "b": False})),
            ProbeResults(active=True, readiness=FrozenMap({"a": True})),
        ),
    ],
)
def test_a_missing_probe_result_equals_the_default_result(one: ProbeResults, other: ProbeResults):
    assert say_the_same(one, other)
    assert say_the_same(other, one)


@pytest.mark.parametrize(
    "other",
    [
        NO_RESULTS,
        ProbeResults(active=True, readiness=FrozenMap({"a": True})),
        ProbeResults(active=True, liveness=FrozenMap({"a": False})),
        ProbeResults(active=True, startup=FrozenMap({"a": True})),
        ProbeResults(active=True, startup=FrozenMap({"a": False})),
    ],
)
# (spec 2.3.3)
def test_ready_dead_started_and_never_started_are_news(other: ProbeResults):
    assert not say_the_same(NOTHING_YET, other)
    assert not say_the_same(other, NOTHING_YET)
