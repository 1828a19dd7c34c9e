"""The shutdown of a simulated machine: `runtime.node_shutdown.capability.MachineShutdown`.

`begin` and `call_off` are a person's actions. `lose_bus` and `bus_is_there` are the loss and the return of the bus. The
machine goes down (`down_at_ns`) when no hold is left, or when it has waited for its longest delay.
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
    """`longest_ns`: the longest delay that an agent can get; None: any that it requests."""

    def __init__(self, dispatcher: Dispatcher, longest_ns: int | None = None) -> None:
        self._dispatcher = dispatcher
        self.longest_ns = longest_ns
        self.bus_is_there = True
        self.going_down = False
        self.down_at_ns: int | None = None
        """When it went down, monotonic."""
        self.asked = 0
        """How often a hold was requested."""
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
        """Stop waiting for that hold."""
        if self._listener is not None and self._listener[0] is hold:
            self._let_go()

    def closed(self, hold: SimulatedHold) -> None:
        """Stop waiting for that hold, and announce nothing to it."""
        if self._listener is not None and self._listener[0] is hold:
            self._listener = None
            self._let_go()

    def _let_go(self) -> None:
        self._held = False
        if self.going_down:
            self._go_down()

    # --- what happens to the machine --------------------------------------------------------------------------------

    @property
    def held(self) -> bool:
        return self._held

    def begin(self) -> None:
        """A person shuts it down."""
        self.going_down, self.down_at_ns = True, None
        if not self._held:
            self._go_down()
            return
        self._limit = self._dispatcher.schedule(self._delay_ns, self._go_down)
        self._tell(True)

    def call_off(self) -> None:
        """The shutdown is cancelled."""
        self.going_down, self.down_at_ns = False, None
        if self._limit is not None:
            self._limit.cancel()
        self._tell(False)

    def lose_bus(self) -> None:
        """The bus is gone: nothing can be signalled, but holds stay."""
        self.bus_is_there = False
        listener, self._listener = self._listener, None
        if listener is not None:
            listener[2]("the bus is away")

    def forget(self) -> None:
        """The agent has died, and its hold with it.

        A shutdown still takes its full delay, so that an agent that comes back meanwhile has something to do.
        """
        self._listener, self._held = None, False

    def _tell(self, going_down: bool) -> None:
        if self._listener is not None:
            self._listener[1](going_down)

    def _go_down(self) -> None:
        if self.down_at_ns is None:
            self.down_at_ns = self._dispatcher.now_ns()
