"""Generates whatever a runtime may show of a pod.

It has the containers `a` and `b` behind `i`, the sidecar `s`, and `j`.
"""

from __future__ import annotations

from hypothesis import strategies as st

from actors.model.observed import ObservedContainer, ObservedPod
from tests.actors.pod_pictures import (
    CREATED,
    EXITED,
    NOW_NS,
    RUNNING,
    SECOND_NS,
    UNKNOWN,
    picture,
    sandbox,
    seen,
)

_STATES = st.sampled_from([CREATED, RUNNING, EXITED, UNKNOWN])


@st.composite
def pictures(draw: st.DrawFn) -> ObservedPod:
    everything: list[ObservedContainer] = []
    for name in draw(st.sets(st.sampled_from(["i", "s", "j", "a", "b"]))):
        for attempt in range(draw(st.integers(1, 2))):
            state = draw(_STATES)
            exit_code = draw(st.sampled_from([0, 0, 1]))
            box = draw(st.integers(0, 1))
            back_off_ns = draw(st.sampled_from([0, 10 * SECOND_NS, 300 * SECOND_NS]))
            everything.append(
                seen(
                    name,
                    state,
                    attempt,
                    exit_code,
                    sandbox_attempt=box,
                    back_off_ns=back_off_ns,
                    ended_ns=NOW_NS - draw(st.integers(0, 400)) * SECOND_NS,
                )
            )
    ready = draw(st.booleans())
    boxes = draw(st.sampled_from([(), (sandbox(0, ready),), (sandbox(1, ready), sandbox(0, False))]))
    return picture(*everything, boxes=boxes)
