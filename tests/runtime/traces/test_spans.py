"""The context of a span: its header, and how it stays with a coroutine that goes on in other threads."""

from __future__ import annotations

from collections.abc import Generator
from threading import Thread
from typing import Any

import pytest

from runtime.traces.spans import TraceContext, below, current, under, within

ONE = TraceContext(0xAB, 0xCD, True)
OTHER = TraceContext(1, 2, False)


class Pause:
    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self)


def test_the_header_is_that_of_w3c_trace_context() -> None:
    assert ONE.header() == ("traceparent", f"00-{'ab':0>32}-{'cd':0>16}-01")
    assert OTHER.header()[1].endswith("-00")


TRACE, SPAN = f"{'ab':0>32}", f"{'cd':0>16}"


@pytest.mark.parametrize(
    ("header", "named"),
    [
        (ONE.header()[1], ONE),
        (f"  00-{TRACE}-{SPAN}-00 ", TraceContext(0xAB, 0xCD, False)),
        (f"00-{TRACE}-{SPAN}-03", ONE),
        (f"01-{TRACE}-{SPAN}-01-later", ONE),
        (f"00-{TRACE}-{SPAN}-01-later", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}", None),
        ("", None),
    ],
)
def test_a_client_names_its_span_or_none(header: str, named: TraceContext | None) -> None:
    assert TraceContext.of_header(header) == named


def test_work_under_a_span_is_its_child_and_what_follows_is_not() -> None:
    assert under(ONE, current) == ONE
    assert current() is None


def test_each_step_of_a_coroutine_has_its_span_on_any_thread() -> None:
    seen = []

    async def work() -> str:
        seen.append(current())
        answer = await Pause()
        seen.append(current())
        return f"heard {answer}"

    async def whole() -> str:
        result = await within(ONE, work())
        seen.append(current())
        return result

    coroutine = whole()
    coroutine.send(None)
    assert current() is None
    ends: list[str] = []

    def go_on() -> None:
        try:
            coroutine.send("yes")
        except StopIteration as end:
            ends.append(end.value)

    thread = Thread(target=go_on)
    thread.start()
    thread.join()
    assert ends == ["heard yes"]
    assert seen == [ONE, ONE, None]


def test_exceptions_pass_into_and_out_of_a_traced_coroutine() -> None:
    async def work() -> None:
        try:
            await Pause()
        except KeyError:
            assert current() == ONE
            raise ValueError("of the coroutine") from None

    async def whole() -> None:
        await within(ONE, work())

    coroutine = whole()
    coroutine.send(None)
    with pytest.raises(ValueError, match="of the coroutine"):
        coroutine.throw(KeyError())


def test_a_coroutine_without_a_span_runs_as_it_is() -> None:
    async def work() -> TraceContext | None:
        return current()

    async def whole() -> tuple[TraceContext | None, TraceContext | None]:
        return await below(None, work()), await below(ONE, work())

    with pytest.raises(StopIteration) as ended:
        whole().send(None)
    assert ended.value.value == (None, ONE)


def test_a_coroutine_that_is_given_up_ends() -> None:
    ended = []

    async def work() -> None:
        try:
            await Pause()
        finally:
            ended.append(current())

    async def whole() -> None:
        await within(ONE, work())

    coroutine = whole()
    coroutine.send(None)
    coroutine.close()
    assert len(ended) == 1
