"""The words of a pod's history."""

from __future__ import annotations

import pytest

from actors.events.history_words import DETAIL_LIMIT, cause_of, decision, end, found, name_wait, shortened
from actors.model.observed import ObservedContainer
from actors.pod_rules.action_types import BackingOff, Kill, KillCause, Start
from actors.pod_rules.actions import PodActions
from actors.pod_rules.lifecycle import BEGINNING, Event, KillRequested, NameFree, PodDesired, Synced, advance
from tests.actors.pod_pictures import EXITED, NOW_NS, SECOND_NS, container, seen

APP, LOG, SETUP = container("app"), container("log"), container("setup")


def test_long_texts_are_one_short_line():
    assert shortened("two\nlines   and more") == "two lines and more"
    assert len(shortened("x" * 1000)) == DETAIL_LIMIT
    assert shortened("x" * 1000).endswith("...")


@pytest.mark.parametrize(
    ("actions", "text", "detail"),
    [
        (PodActions(), "", ""),
        (
            PodActions(create_sandbox=True, why_sandbox="the pod has no sandbox", start=(Start(APP, 0), Start(LOG, 0))),
            "make a sandbox, then start containers app, log",
            "the pod has no sandbox",
        ),
        (PodActions(start_init=(Start(SETUP, None),)), "start init container setup", ""),
        (PodActions(start=(Start(APP, 1),)), "start container app", "app for the 2nd time"),
        (
            PodActions(start=(Start(APP, 2), Start(LOG, 10))),
            "start containers app, log",
            "app for the 3rd time; log for the 11th time",
        ),
        (PodActions(start_ephemeral=(Start(container("debug"), 0),)), "start ephemeral container debug", ""),
        (
            PodActions(kill=(Kill("id", "app", KillCause.LIVENESS, APP),), start=(Start(APP, 1),)),
            "stop container app: its liveness probe has failed, then start container app",
            "app for the 2nd time",
        ),
        (
            PodActions(kill_pod=True, why_kill_pod="every container has ended and none is restarted"),
            "stop everything of it",
            "every container has ended and none is restarted",
        ),
        (PodActions(backing_off=(BackingOff("app", 1, 1),)), "", ""),
    ],
    ids=["nothing", "first pass", "init", "restart", "restarts", "ephemeral", "probe", "all over", "only a wait"],
)
def test_decisions(actions: PodActions, text: str, detail: str):
    assert decision(actions) == (text, detail)


@pytest.mark.parametrize(
    ("ended", "text", "detail"),
    [
        (seen("app", EXITED, ran_ns=3 * SECOND_NS), "container app ended with exit code 0", "after 3.0 s"),
        (
            seen("app", EXITED, 2, 1, reason="Error", message="panic:\n  at line 1", ran_ns=90 * SECOND_NS),
            "container app ended with exit code 1 (Error)",
            "attempt 2, after 90 s: panic: at line 1",
        ),
        (
            ObservedContainer("id", "app", 0, EXITED, exit_code=128, reason="StartError", message="no such file"),
            "container app ended with exit code 128 (StartError)",
            "no such file",
        ),
    ],
    ids=["well", "badly", "never started"],
)
def test_ends_of_containers(ended: ObservedContainer, text: str, detail: str):
    assert end(ended) == (text, detail)


def test_a_container_that_ran_before_its_worker_is_called_found_running():
    assert found(seen("app")) == ("container app was found running, and goes on", "")
    assert found(seen("app", attempt=3)) == ("container app was found running, and goes on", "attempt 3")


@pytest.mark.parametrize(
    ("event", "cause"),
    [
        (KillRequested(removed=True), "no source desires it any more"),
        (
            KillRequested(evicted=True, reason="Evicted", message="the node was low on memory"),
            "evicted: the node was low on memory",
        ),
        (KillRequested(reason="Preempting", message="for a critical pod"), "for a critical pod"),
        (KillRequested(), ""),
        (PodDesired(deleting=True, deletion_grace_seconds=30), "its deletion was asked for, with 30 s of grace"),
        (PodDesired(over=True), "its phase was final already"),
        (Synced(terminal=True), ""),
    ],
    ids=["removed", "evicted", "killed with a reason", "killed", "deleted", "over", "ended by itself"],
)
def test_causes_of_an_end(event: Event, cause: str):
    syncing = advance(BEGINNING, PodDesired(), NOW_NS).life
    assert cause_of(event, advance(syncing, event, NOW_NS).life) == cause


def test_a_cause_that_the_rule_already_states_is_left_out():
    waiting = advance(BEGINNING, NameFree(), NOW_NS).life
    assert cause_of(PodDesired(), waiting) == ""


def test_waits_for_a_name_say_for_whom():
    assert "not known yet" in name_wait(heard=True, listed=False, ahead="", orphan=False)
    assert "no such socket" in name_wait(
        heard=True, listed=False, ahead="", orphan=False, away="there is no such socket"
    )
    assert "source" in name_wait(heard=False, listed=True, ahead="", orphan=False)
    assert "UID other" in name_wait(heard=True, listed=True, ahead="other", orphan=False)
    assert "only the runtime knows" in name_wait(heard=True, listed=True, ahead="", orphan=True)
