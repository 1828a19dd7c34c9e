"""A lane in a world without threads: calls take no time, under the rules of `lanes`.

A function that returns a `Promise` simulates a call that takes long, or hangs: the call ends when the promise does.

The dispatcher draws whether a call is late or early. A late call is made when every ready actor has had a turn, so
other actors run in between, and the agent may die there. An early call is made within the turn of its caller, as a fast
thread would. While any call waits, no call is early: calls of one key begin in the order in which they come, but for
those that end something. Keys take turns, as on threads.
"""

from __future__ import annotations

from collections.abc import Callable

from actors.kernel.context import context
from actors.kernel.dispatcher import Dispatcher
from actors.kernel.lanes import CallStage, LaneBase, LaneCall
from actors.kernel.promise import Promise


class SimulatedLane(LaneBase):
    """`is_late` draws whether a call is late."""

    def __init__(self, dispatcher: Dispatcher, name: str, size: int, per_key: int, is_late: Callable[[], bool]) -> None:
        super().__init__(dispatcher, name, size, per_key)
        self._is_late = is_late
        self._is_due = False

    def _start_new(self, call: LaneCall) -> None:
        is_first = self._turns.waiting == 1
        if is_first and self._turns.could_start(call) and not self._is_late():
            self._start_all_with_a_slot()
        else:
            self._start_ready()

    def _start_ready(self) -> None:
        if self._turns.waiting and not self._is_due:
            self._is_due = True
            self._dispatcher.schedule(0, self._start_due)

    def _start_due(self) -> None:
        self._is_due = False
        self._start_all_with_a_slot()

    def _start(self, call: LaneCall) -> None:
        """Make the call. It takes a slot only when it does not return at once."""
        call.stage = CallStage.OVER
        self._turns.takes_no_slot(call)
        caller, context.cell = context.cell, None  # as on a thread: messages that the call sends come from no actor
        try:
            result = call.fn(*call.args)
        except BaseException as failure:
            call.promise.set_exception(failure)
            return
        finally:
            context.cell = caller
        if not isinstance(result, Promise):
            call.promise.set_result(result)
            return
        self._runs(call)
        if call.promise.done():  # abandoned meanwhile
            self._promise_ended(call)
        result.add_done_callback(lambda _: self._end(call, result))

    def _end(self, call: LaneCall, result: Promise[object]) -> None:
        self._returned(call)
        self._start_ready()
        failure = result.exception()
        if failure is None:
            call.promise.set_result(result.result())
        else:
            call.promise.set_exception(failure)
