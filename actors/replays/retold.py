"""The steps of a record as lines: `<ns> <who> <what> <outcome>`. Pure.

The traces of simulations have such lines, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from actors.kernel.recorded.entries import (
    Called,
    CalledBack,
    Deed,
    EffectDone,
    Ended,
    EndedAtOnce,
    MessageCame,
    Sent,
    Step,
    StopCame,
    TimersFired,
    Turn,
)
from actors.kernel.recorded.replayer import Taken
from actors.records.written import TEXT_AT_MOST, label

OUTSIDE = "outside"
RESULT_AT_MOST = 160


def lines_of(taken: Taken, began_ns: int, sites: dict[int, str]) -> Iterator[str]:
    """The step and what was done in it.

    `sites`: the calls that have begun each effect; it is kept up to date.
    """
    step = taken.step
    at = step.now_ns - began_ns
    who = step.path if isinstance(step, Turn) else OUTSIDE
    yield f"{at} {who} {_step(step, sites)}"
    for deed in taken.deeds:
        if isinstance(deed, Called) and deed.ended is Ended.PENDING:
            sites[deed.value] = deed.site
        yield f"{at} {who} {_deed(deed, sites)}"


def _step(step: Step, sites: dict[int, str]) -> str:
    if isinstance(step, Turn):
        return "turn ok"
    if isinstance(step, EffectDone):
        return f"answered {sites.pop(step.number, step.number)}: {_result(step.failed, step.value)}"
    if isinstance(step, TimersFired):
        return "timers ok"
    if isinstance(step, MessageCame):
        return f"{label(step.message)} to {step.path}"
    if isinstance(step, StopCame):
        return f"stop to {step.path}"
    assert isinstance(step, CalledBack)
    return f"called back with {_short(step.arguments)}"


def _deed(deed: Deed, sites: dict[int, str]) -> str:
    if isinstance(deed, Sent):
        return f"sends {deed.message.label} to {deed.path}"
    if isinstance(deed, EndedAtOnce):
        return f"answered {sites.pop(deed.number, deed.number)}: {_result(deed.failed, deed.value)}"
    if deed.ended is Ended.RAISED:
        return f"calls {deed.site}: fails: {_short(deed.value)}"
    if deed.ended is Ended.VALUE:
        return f"calls {deed.site}: {_short(deed.value)}"
    return f"calls {deed.site}"


def _result(failed: bool, value: object) -> str:
    return f"failed: {' '.join(str(value).split()) or type(value).__name__}" if failed else _short(value)


def _short(value: object) -> str:
    text = " ".join(repr(value)[:TEXT_AT_MOST].split())
    return text if len(text) <= RESULT_AT_MOST else f"{text[:RESULT_AT_MOST]}..."
