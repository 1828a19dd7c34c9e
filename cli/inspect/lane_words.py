"""What lanes say of a pod and of themselves, in words for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from actors.kernel import KeyReport, LaneReport

FULL = "it is full: all its calls hang, and it takes no more"


def places_of(uid: str, lanes: Sequence[LaneReport]) -> Iterator[str]:
    """A line for each lane on which calls of this pod wait or hang."""
    for lane in lanes:
        for key in lane.keys:
            if key.key == uid and (key.waiting or key.hanging):
                yield f"lane {lane.name}: {_counts(key)}{_turn(key)}"


def lane_line(lane: LaneReport) -> str:
    """One lane; "" for one without calls."""
    if not lane.keys:
        return ""
    parts = [f"{lane.running} of {lane.size} at work"]
    waits = sum(key.waiting > 0 for key in lane.keys)
    parts.append(f"{lane.waiting} waiting" + (f" of {waits} pods or things, which take turns" if waits > 1 else ""))
    if lane.hanging:
        parts.append(f"{lane.hanging} {'hangs' if lane.hanging == 1 else 'hang'}")
    if lane.written_off:
        parts.append(f"given up: {', '.join(f'{key}: {call}' for key, call, _ in lane.written_off)}")
    return f"lane {lane.name}: {', '.join(parts)}" + (f"; {FULL}" if lane.exhausted else "")


def _counts(key: KeyReport) -> str:
    counts = ((key.running, "runs", "run"), (key.waiting, "waits", "wait"), (key.hanging, "hangs", "hang"))
    (count, one, many), *others = [each for each in counts if each[0]]
    first = f"1 call {one}" if count == 1 else f"{count} calls {many}"
    return ", ".join([first, *(f"{number} {verb if number == 1 else verbs}" for number, verb, verbs in others)])


def _turn(key: KeyReport) -> str:
    """When the next call of this key starts."""
    if not key.waiting:
        return ""
    if key.before is None:
        return "; the next starts when one of its own has returned"
    if key.before == 0:
        return "; its turn is next"
    return f"; {key.before} {'other has its turn' if key.before == 1 else 'others have their turns'} before it"
