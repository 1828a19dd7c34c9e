"""Scenarios can fail: agents that were changed to resize pods wrongly do not get through `resizes`."""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.allocation import Book
from actors.pod.runtime import PodCalls
from actors.pod.steps.resize import PodResize
from actors.resources.resize.pending import PendingResizes
from tests.simulation.mutants import is_found_out

Mutate = pytest.MonkeyPatch


def test_an_agent_that_gives_what_the_node_has_not_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(Book, "used", lambda *_: 0)
    assert is_found_out("resizes", None, "over-committed")


def test_an_agent_that_does_not_tell_the_runtime_is_found_out(monkeypatch: Mutate):
    async def nothing(*_: Any) -> None:
        return

    monkeypatch.setattr(PodCalls, "update_container", nothing)
    assert is_found_out("resizes", None, "half-resized")


def test_an_agent_that_never_tries_again_what_had_to_wait_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(PendingResizes, "try_all", lambda *_: ())
    assert is_found_out("resizes", None, "half-resized")


def test_an_agent_that_takes_what_a_pod_asks_for_as_given_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(PodResize, "given", lambda _, pod: pod)
    assert is_found_out("resizes", None, "half-resized")
