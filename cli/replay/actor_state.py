"""One actor in detail as lines of text: its state, its waiting messages, and its fields."""

from __future__ import annotations

from collections.abc import Iterator

from actors.kernel.inspection import ActorState
from cli.simulate.trace_lines import seconds


def state_lines(name: str, state: ActorState) -> Iterator[str]:
    """`name`: as in the trace."""
    info = state.info
    yield f"{name}: {info.actor_class}, {info.state}"
    did = f"  {info.handled} messages handled, {info.restarts} restarts, {info.children} children"
    yield f"{did}, {info.effects} effects on their way"
    if info.last_failure:
        yield f"  last failure: {info.last_failure}"
    if info.handling:
        yield f"  handles {info.handling} for {seconds(info.handling_for_ns)}"
        yield f"  awaits {info.waiting_for or 'what comes next'}"
        for number, place in enumerate(state.awaits):
            yield f"    {'  ' * number}{place}"
    yield f"  mailbox: {info.mailbox_depth or 'empty'}"
    for message in state.mailbox:
        asked = ", which waits for the answer" if message.asked else ""
        yield f"    {message.message} from {message.sender}{asked}, for {seconds(message.age_ns)}"
    if info.mailbox_depth > len(state.mailbox):
        yield f"    and {info.mailbox_depth - len(state.mailbox)} more"
    yield "  fields:"
    for field, text in state.fields:
        yield f"    {field} = {text}"
