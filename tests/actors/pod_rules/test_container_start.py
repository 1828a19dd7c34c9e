"""The table of a container's start, walked without any runtime.

Names say the rule of the spec that they prove.
"""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod.view import StartLives
from actors.pod_rules.container_start import (
    BEGINNING,
    TABLE,
    ConfigGathered,
    Created,
    Event,
    Gone,
    ImageFound,
    Missing,
    PodEnds,
    PostStartEnded,
    Pulled,
    PullFailed,
    PullNeeded,
    StartedContainer,
    StartLife,
    StartStage,
    StepRefused,
    Wanted,
    advance,
)
from tests.actors.machines.mistakes import has_rules

WANTED = Wanted("web:1")
FAILED = PullFailed("web:1", "ErrImagePull", "no such image", 10, ("ImagePullBackOff", "Back-off"), 5)
REFUSED = StepRefused("CreateContainerConfigError", "no such key", 20)
ERROR = ("PostStartHookError", "PostStartHook failed: no")
TO_CREATED = (WANTED, ImageFound(), ConfigGathered(), Created("c1"))
HOOKED = (*TO_CREATED, StartedContainer(hooked=True))
S = StartStage


def walk(*events: Event, life: StartLife = BEGINNING) -> StartLife:
    for event in events:
        life = advance(life, event)
    return life


@pytest.mark.parametrize(
    ("events", "stage"),
    [
        pytest.param([WANTED], S.LOOKING, id="3.7.1: every start begins with its image"),
        pytest.param([WANTED, ImageFound()], S.GATHERING, id="3.7.1: an image that is here is used"),
        pytest.param([WANTED, PullNeeded(0)], S.PULLING, id="6.1: one that is not is pulled"),
        pytest.param([WANTED, PullNeeded(0), Pulled("web:1")], S.RESTING, id="6.1: pulled: the next pass goes on"),
        pytest.param([WANTED, PullNeeded(0), FAILED], S.UNPULLED, id="6.1: a pull that failed backs off"),
        pytest.param([WANTED, PullNeeded(0), FAILED, WANTED, PullNeeded(9)], S.UNPULLED, id="6.1: until its time"),
        pytest.param([WANTED, PullNeeded(0), FAILED, WANTED, PullNeeded(10)], S.PULLING, id="6.1: and then again"),
        pytest.param(
            [WANTED, PullNeeded(0), FAILED, WANTED, ImageFound()], S.GATHERING, id="6.1: unless it is there meanwhile"
        ),
        pytest.param(
            [WANTED, PullNeeded(0), FAILED, Wanted("web:2"), PullNeeded(1)],
            S.PULLING,
            id="6.1: another image does not wait for the one before",
        ),
        pytest.param(
            [WANTED, StepRefused("ErrImageNeverPull", "", 5)], S.REFUSED, id="6.1: an image that cannot be had"
        ),
        pytest.param([WANTED, PullNeeded(0), Missing()], S.ASKING, id="6.3: credentials are asked for first"),
        pytest.param([WANTED, Missing()], S.ASKING, id="8.7: images that it mounts come before its own"),
        pytest.param([WANTED, ImageFound(), Missing()], S.ASKING, id="13.3: so is what its variables are taken from"),
        pytest.param([WANTED, ImageFound(), REFUSED], S.REFUSED, id="3.7.4: a configuration that cannot be"),
        pytest.param([WANTED, ImageFound(), REFUSED, WANTED], S.LOOKING, id="3.7: whoever was refused begins anew"),
        pytest.param(
            [WANTED, ImageFound(), ConfigGathered()], S.CREATING, id="3.7.4: a configuration is made into one"
        ),
        pytest.param([*TO_CREATED], S.STARTING, id="3.7.5: what was made is started"),
        pytest.param([*TO_CREATED[:3], REFUSED], S.REFUSED, id="3.7.5: CreateContainer fails"),
        pytest.param([*TO_CREATED, REFUSED], S.REFUSED, id="3.7.5: StartContainer fails"),
        pytest.param([Wanted("web:1", "c1")], S.STARTING, id="3.3: one that was made already is only started"),
        pytest.param([*TO_CREATED, StartedContainer()], S.STARTED, id="3.7.5: without a hook it has started"),
        pytest.param([*HOOKED], S.HOOKED, id="3.7.7: with a hook it has not"),
        pytest.param([*HOOKED, PostStartEnded("c1")], S.STARTED, id="3.7.7: before that has ended"),
        pytest.param([*HOOKED, PostStartEnded("c1", ERROR)], S.UNDONE, id="3.7.7: whose hook fails is ended"),
        pytest.param([*HOOKED, PostStartEnded("c1", ERROR), Gone("c1")], S.RESTING, id="3.7.7: and then begins anew"),
        pytest.param([*HOOKED, PostStartEnded("c0")], S.HOOKED, id="3.7.7: a hook of another one says nothing"),
        pytest.param([*HOOKED, PostStartEnded("c1", ERROR), Gone("c0")], S.UNDONE, id="3.7.7: nor does its end"),
        pytest.param([*HOOKED, Gone("c1", ERROR)], S.RESTING, id="3.7.7: it ends before its hook"),
        pytest.param([*HOOKED, PodEnds()], S.STARTED, id="3.7.7: a pod that ends waits for no hook"),
        pytest.param([*TO_CREATED, StartedContainer(), WANTED], S.LOOKING, id="3.4: started again from the first step"),
    ],
)
# (spec 3.7.4)
def test_spec_3_7_stage(events: list[Event], stage: StartStage) -> None:
    assert walk(*events).stage is stage


@pytest.mark.parametrize(
    ("events", "reason", "retry_at_ns"),
    [
        pytest.param([WANTED], "", None, id="nothing is known yet"),
        pytest.param([WANTED, PullNeeded(0), FAILED], "ErrImagePull", 5, id="the pull's own reason first"),
        pytest.param([WANTED, PullNeeded(0), FAILED, WANTED, PullNeeded(4)], "ErrImagePull", 5, id="and for so long"),
        pytest.param(
            [WANTED, PullNeeded(0), FAILED, WANTED, PullNeeded(5)], "ImagePullBackOff", 10, id="the back-off's then"
        ),
        pytest.param([WANTED, ImageFound(), REFUSED], "CreateContainerConfigError", 20, id="the reason of a refusal"),
        pytest.param(
            [WANTED, ImageFound(), REFUSED, WANTED, ImageFound()],
            "CreateContainerConfigError",
            None,
            id="a try keeps the reason of the one before while it knows no other",
        ),
        pytest.param(
            [WANTED, ImageFound(), REFUSED, *TO_CREATED, StartedContainer()], "", None, id="what runs has none"
        ),
        pytest.param([*HOOKED, PostStartEnded("c1", ERROR)], "PostStartHookError", None, id="a hook that failed"),
        pytest.param([*HOOKED, Gone("c1", ERROR)], "PostStartHookError", None, id="an end before the hook's"),
    ],
)
# (spec 2.7.9, 3.7.4)
def test_spec_3_7_waiting_reasons(events: list[Event], reason: str, retry_at_ns: int | None) -> None:
    life = walk(*events)
    assert (life.reason, life.retry_at_ns) == (reason, retry_at_ns)


# (spec 3.7.1)
def test_spec_6_1_an_image_is_requested_once_per_start() -> None:
    pulled = walk(WANTED, PullNeeded(0), Pulled("web:1"), WANTED)
    assert pulled.is_pulled
    assert not walk(Wanted("web:2"), life=pulled).is_pulled
    made = walk(ImageFound(), ConfigGathered(), Created("c1"), StartedContainer(), WANTED, life=pulled)
    assert not made.is_pulled


def test_every_stage_can_begin_anew() -> None:
    assert all(has_rules(TABLE, stage, Wanted) for stage in StartStage)


def test_every_event_has_rules() -> None:
    assert TABLE.events == set(get_args(Event))


_EVENTS = st.one_of(
    st.builds(Wanted, image=st.sampled_from(["web:1", "web:2"]), made=st.sampled_from(["", "c9"])),
    st.builds(PullNeeded, now_ns=st.integers(0, 20)),
    st.builds(Pulled, image=st.sampled_from(["web:1", "web:2"])),
    st.builds(Created, id=st.sampled_from(["c1", "c2"])),
    st.builds(StartedContainer, hooked=st.booleans()),
    st.builds(PostStartEnded, id=st.sampled_from(["c1", "c2"]), error=st.sampled_from([None, ERROR])),
    st.builds(Gone, id=st.sampled_from(["c1", "c2"]), error=st.sampled_from([None, ERROR])),
    st.sampled_from([ImageFound(), ConfigGathered(), Missing(), REFUSED, FAILED, PodEnds()]),
)


@given(st.lists(_EVENTS, max_size=30))
def test_whatever_happens_nothing_is_made_without_an_image_and_nothing_starts_that_was_not_made(
    events: list[Event],
) -> None:
    life, found, gathered, made = BEGINNING, False, False, False
    for event in events:
        before, life = life, advance(life, event)
        if isinstance(event, Wanted):
            found, gathered, made = False, False, bool(event.made)
        elif life is not before:
            found |= isinstance(event, ImageFound)
            gathered |= isinstance(event, ConfigGathered)
            made |= isinstance(event, Created)
        assert life.stage is not StartStage.GATHERING or found
        assert life.stage is not StartStage.CREATING or (found and gathered)
        assert life.stage not in (StartStage.STARTING, StartStage.HOOKED, StartStage.STARTED) or made
        assert (life.stage, type(event)) != (StartStage.HOOKED, Wanted)
        if not has_rules(TABLE, before.stage, type(event)):
            assert life is before


def test_the_start_book_lists_running_containers_that_have_not_started() -> None:
    lives = StartLives()
    for event in HOOKED:
        lives.meet("web", event)
    lives.meet("other", WANTED)
    assert lives.unstarted == {"c1"}
    assert (lives.of("web").stage, lives.of("nobody")) == (StartStage.HOOKED, BEGINNING)
    lives.meet("web", PostStartEnded("c1", ERROR))
    assert lives.unstarted == {"c1"}, "it is being ended"
    lives.meet("web", Gone("c1"))
    assert lives.unstarted == frozenset()


def test_an_event_without_news_returns_the_same_start_object() -> None:
    life = walk(*HOOKED)
    assert advance(life, PostStartEnded("c0")) is life
    assert advance(life, ConfigGathered()) is life
    assert msgspec.structs.replace(life) is not life
