"""A machine that goes down, or says so: `runtime.node_shutdown.capability.MachineShutdown` in a world without one.

`begin` and `call_off` are what a person does, `lose_bus` is the bus that goes away, `bus_is_there` that it is there.
It goes down (`down_at_ns`) when nobody holds it any more, or when it has waited for as long as it has promised.
"""

from __future__ import annotations

from collections.abc import Callable

from actors.kernel import Cancellable, Dispatcher, Pending, Promise, broken
from runtime.node_shutdown.capability import Hold, MachineShutdownError


class SimulatedHold:
    """`Hold` of a simulated machine."""

    def __init__(self, machine: SimulatedMachineShutdown, delay_ns: int, going_down: bool) -> None:
        self._machine = machine
        self.delay_ns = delay_ns
        self.going_down = going_down

    def release(self) -> None:
        self._machine.released(self)

    def close(self) -> None:
        self._machine.closed(self)


class SimulatedMachineShutdown:
    """See the module. `longest_ns`: what it can be made to wait for; None: for whatever is asked."""

    def __init__(self, dispatcher: Dispatcher, longest_ns: int | None = None) -> None:
        self._dispatcher = dispatcher
        self.longest_ns = longest_ns
        self.bus_is_there = True
        self.going_down = False
        self.down_at_ns: int | None = None
        """When it went down, monotonic."""
        self.asked = 0
        """How often somebody has wanted to hold it."""
        self._delay_ns = 0
        self._listener: tuple[SimulatedHold, Callable[[bool], None], Callable[[str], None]] | None = None
        self._held = False
        self._limit: Cancellable | None = None

    # --- what an agent does -----------------------------------------------------------------------------------------

    def hold(
        self, least_ns: int, wanted_ns: int, on_change: Callable[[bool], None], on_lost: Callable[[str], None]
    ) -> Pending[Hold]:
        self.asked += 1
        if not self.bus_is_there:
            return broken(MachineShutdownError("there is no bus in this world"))
        self._delay_ns = wanted_ns if self.longest_ns is None else min(wanted_ns, self.longest_ns)
        hold = SimulatedHold(self, self._delay_ns, self.going_down)
        self._listener = (hold, on_change, on_lost)
        if not self.going_down:
            self._held = True
        answer: Promise[Hold] = Promise()
        answer.set_result(hold)
        return answer

    def released(self, hold: SimulatedHold) -> None:
        """It need not wait for that one."""
        if self._listener is not None and self._listener[0] is hold:
            self._let_go()

    def closed(self, hold: SimulatedHold) -> None:
        """Nor tell it."""
        if self._listener is not None and self._listener[0] is hold:
            self._listener = None
            self._let_go()

    def _let_go(self) -> None:
        self._held = False
        if self.going_down:
            self._go_down()

    # --- what happens to it -----------------------------------------------------------------------------------------

    @property
    def held(self) -> bool:
        return self._held

    def begin(self) -> None:
        """Somebody shuts it down."""
        self.going_down, self.down_at_ns = True, None
        if not self._held:
            self._go_down()
            return
        self._limit = self._dispatcher.schedule(self._delay_ns, self._go_down)
        self._tell(True)

    def call_off(self) -> None:
        """It stays after all."""
        self.going_down, self.down_at_ns = False, None
        if self._limit is not None:
            self._limit.cancel()
        self._tell(False)

    def lose_bus(self) -> None:
        """Nobody can be told anything; who holds it holds it all the same."""
        self.bus_is_there = False
        listener, self._listener = self._listener, None
        if listener is not None:
            listener[2]("the bus is away")

    def forget(self) -> None:
        """The agent has died, and its hold with it. A machine that goes down takes its time all the same: so an agent
        that comes back in the middle finds something to do.
        """
        self._listener, self._held = None, False

    def _tell(self, going_down: bool) -> None:
        if self._listener is not None:
            self._listener[1](going_down)

    def _go_down(self) -> None:
        if self.down_at_ns is None:
            self.down_at_ns = self._dispatcher.now_ns()
