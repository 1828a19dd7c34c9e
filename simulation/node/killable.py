"""An agent that can be killed: what stands between a node's actors and the world they run in.

A process that dies does nothing more, while what it has asked of others goes on. So after `kill` no actor of the agent
runs again, and no timer or waiting call of a lane fires. Nothing reaches the runtime or the disk, even from a turn that
is still running. Calls that had reached the runtime before are carried out. The world itself (clock, chance, runtime,
disk) lives on for the next agent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from actors.kernel import Cancellable, Dispatcher, KernelError, Lane, LaneReport, Pending, Promise, Rank
from actors.kernel.actor_base import ActorBase
from actors.kernel.dispatcher import Runnable, Trace
from actors.kernel.mailbox import Mailbox
from actors.volumes.calls import VolumeWork
from runtime.api import Api, ApiCall, ApiError, WatchCall, WatchEvent
from runtime.api.calls import K, R
from runtime.cri import Cri
from runtime.cri.errors import CriError
from runtime.cri.verbs import Req, Res, Verb
from runtime.io.pending import Subscription
from simulation.faults.failing import FailingActors, Handlers
from simulation.node.work import AgentWork

T = TypeVar("T")
Mailboxes = Callable[[type[ActorBase]], Mailbox]
"""Makes the mailbox of an actor of that class."""
BeforeCall = Callable[[str], bool]
"""May say of a call to the runtime, by its verb, that nothing comes of it."""
Moment = Callable[[str], object]
"""Told of a moment at which the agent may die: what it is about to do, or has just done.

It may kill the agent.
"""
Hangs = Callable[[str, Hashable], bool]
"""Whether a lane call hangs for ever, by the name of its function and its key."""
LOOKING = ("List", "Version", "Status", "Get", "ImageFsInfo", "ImageStatus")
"""Beginnings of verbs of the runtime that change nothing."""


class AgentKilledError(KernelError):
    """A call that had not begun when its agent died."""


class KillableDispatcher(Dispatcher):
    """The dispatcher of one agent, on that of the world.

    `life` counts the agents on one host. `trace`: gets the messages of this agent, instead of the listener of the whole
    world.
    """

    def __init__(self, world: Dispatcher, life: int = 0, trace: Trace | None = None) -> None:
        self.alive = True
        self.trace = world.trace if trace is None else trace
        self.mailboxes: Mailboxes | None = None
        self.failing: FailingActors | None = None
        self.before_call: BeforeCall | None = None
        self.moment: Moment | None = None
        self.hangs: Hangs | None = None
        self.work: AgentWork | None = None
        """What its work costs in virtual time; None: nothing."""
        self.calls_under_way = 0
        """Calls of lanes that are being made right now."""
        self._awake = True
        self._late: list[Callable[[], object]] = []
        self._waiting: list[Runnable] = []
        self._frozen = ""
        self._wanted: Callable[[], object] = lambda: None
        self._own_lanes: dict[str, _KillableLane] = {}
        self.chance = world.chance
        self._world = world
        self._life = life

    def kill(self) -> None:
        self.alive = self._awake = False
        self._waiting.clear()

    def lives_through(self, what: str) -> bool:
        """A moment at which it may die has come. Return whether it is alive afterwards."""
        if self.moment is not None and self.alive:
            self.moment(what)
        return self.alive

    def dies_within_a_call(self, what: str) -> bool:
        """Whether the agent dies now, amid a call of a lane. Outside of such calls it does not."""
        return self.calls_under_way > 0 and not self.lives_through(what)

    @property
    def runs(self) -> bool:
        """Whether the agent lives and gets CPU."""
        return self._awake

    def pause(self) -> None:
        """Take the CPU from the agent: its work waits until `resume`, and is then all done at once."""
        if self.alive:
            self._awake = False

    def resume(self) -> None:
        """Let the agent go on where it was. A frozen actor stays frozen."""
        if not self.alive or self._awake:
            return
        self._awake = True
        late, self._late = self._late, []
        self._let_run()
        for fn in late:
            fn()

    def freeze(self, path: str, wanted: Callable[[], object] = lambda: None) -> None:
        """Freeze the actor at that path until `thaw`: it handles no message.

        `wanted` is called when it has work.
        """
        self._frozen, self._wanted = path, wanted

    def thaw(self) -> None:
        """End the freeze."""
        self._frozen = ""
        self._let_run()

    def enqueue(self, cell: Runnable) -> None:
        if not self.alive:
            return
        if not self._awake:
            self._waiting.append(cell)
        elif self._frozen and cell.path == self._frozen:
            self._waiting.append(cell)
            self._wanted()
        else:
            self._world.enqueue(cell if self.moment is None and self.work is None else _Turn(self, cell))

    def _let_run(self) -> None:
        if not self._awake:
            return
        waiting, self._waiting = self._waiting, []
        for cell in waiting:
            self.enqueue(cell)

    def new_mailbox(self, actor_class: type[ActorBase]) -> Mailbox:
        return Mailbox(actor_class.mailbox_capacity) if self.mailboxes is None else self.mailboxes(actor_class)

    def handlers_of(self, actor_class: type[ActorBase]) -> Handlers:
        handlers = super().handlers_of(actor_class)
        return handlers if self.failing is None else self.failing.wrapped(actor_class, handlers)

    def now_ns(self) -> int:
        return self._world.now_ns()

    def wall_ns(self) -> int:
        return self._world.wall_ns()

    def schedule(self, after_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> Cancellable:
        if every_ns is None:
            return self._world.schedule(after_ns, lambda: fn() if self._awake else self._keep(fn))

        def tick() -> None:
            if self._awake:
                fn()
            elif not self.alive:
                timer.cancel()
            elif fn not in self._late:
                self._keep(fn)

        timer = self._world.schedule(after_ns, tick, every_ns)
        return timer

    def _keep(self, fn: Callable[[], object]) -> None:
        """Keep calls of a paused agent for afterwards."""
        if self.alive:
            self._late.append(fn)

    def new_uid(self) -> str:
        return self._world.new_uid()

    def lane(self, name: str, *, size: int, per_key: int) -> Lane:
        lane = self._own_lanes.get(name)
        if lane is None:
            # A dead agent's calls that hang do not take the places of the next one's.
            own = name if self._life == 0 else f"{name} ({self._life})"
            lane = self._own_lanes[name] = _KillableLane(self, self._world.lane(own, size=size, per_key=per_key))
        return lane

    def wait_until_done(self, pending: Pending[Any], timeout_ns: int | None) -> bool:
        return self._world.wait_until_done(pending, timeout_ns)

    def lanes(self) -> tuple[LaneReport, ...]:
        return self._world.lanes()

    def stuck(self) -> tuple[tuple[str, int], ...]:
        return self._world.stuck()

    def close(self) -> None:
        """Ends the agent, not the world."""
        self.kill()


class _Turn:
    """A turn of an actor, before which its agent may die, and which may cost time.

    The answer that a dead agent's actor waited for has come, and is lost.
    """

    __slots__ = ("_agent", "_cell", "path", "slice_since_ns")

    def __init__(self, agent: KillableDispatcher, cell: Runnable) -> None:
        self._agent = agent
        self._cell = cell
        self.path = cell.path
        self.slice_since_ns: int | None = None

    def run(self, turns: int = 1) -> None:
        """See `Runnable.run`."""
        work = self._agent.work
        if work is not None and not work.may_begin(self._cell):
            return
        if not self._agent.lives_through(f"turn of {self.path}"):
            return
        if work is None:
            self._cell.run(turns)
        else:
            work.turn(self._cell, turns)


class _KillableLane:
    __slots__ = ("_agent", "_lane", "name")

    def __init__(self, agent: KillableDispatcher, lane: Lane) -> None:
        self.name = lane.name
        self._agent = agent
        self._lane = lane

    def submit(
        self,
        key: Hashable,
        fn: Callable[..., T],
        *args: Any,
        deadline_ns: int | None = None,
        rank: Rank = Rank.NORMAL,
        ends: bool = False,
    ) -> Pending[T]:
        if not self._agent.alive:
            return Promise()

        agent = self._agent
        name = getattr(fn, "__qualname__", None) or type(fn).__qualname__

        def call() -> T:
            if not agent.lives_through(f"before {name}"):
                raise AgentKilledError("the agent is dead")
            if agent.hangs is not None and agent.hangs(name, key):
                return _hung(fn)  # type: ignore[return-value]  # what the simulated lane takes for a hang
            agent.calls_under_way += 1
            try:
                # The simulated lane takes a promise for a call that goes on.
                return fn(*args) if agent.work is None else agent.work.call(fn, *args)  # type: ignore[return-value]
            finally:
                agent.calls_under_way -= 1
                agent.lives_through(f"after {name}")

        call.__qualname__ = name
        pending = self._lane.submit(key, call, deadline_ns=deadline_ns, rank=rank, ends=ends)
        # Of a call on which the agent has died it hears nothing, even where the call was made within its turn.
        return pending if self._agent.alive else Promise()

    def report(self) -> LaneReport:
        return self._lane.report()


def _hung(fn: Callable[..., Any]) -> Promise[Any]:
    """A call that has begun and never ends."""
    if isinstance(fn, VolumeWork):
        fn.begin()
    return Promise()


class KillableCri:
    """The runtime as one agent reaches it."""

    def __init__(self, agent: KillableDispatcher, cri: Cri) -> None:
        self._agent = agent
        self._cri = cri

    def call(self, verb: Verb[Req, Res], request: Req, *, timeout_ns: int | None = None) -> Pending[Res]:
        """See `Cri.call`."""
        agent = self._agent
        if not agent.alive or (agent.before_call is not None and not agent.before_call(verb.name)):
            return Promise()
        if verb.name.startswith(LOOKING):
            return self._cri.call(verb, request, timeout_ns=timeout_ns)
        if not agent.lives_through(f"before {verb.name}"):
            return Promise()
        pending = self._cri.call(verb, request, timeout_ns=timeout_ns)
        return pending if agent.lives_through(f"after {verb.name}") else Promise()

    def stream(
        self,
        verb: Verb[Req, Res],
        request: Req,
        on_item: Callable[[Res], None],
        on_end: Callable[[CriError | None], None],
    ) -> Subscription:
        """See `Cri.stream`."""
        return self._cri.stream(verb, request, on_item, on_end) if self._agent.alive else _Nothing()


class KillableApi:
    """The API server as one agent reaches it. `close` ends its watches, as the end of a process does."""

    def __init__(self, agent: KillableDispatcher, api: Api) -> None:
        self._agent = agent
        self._api = api
        self._watches: dict[Subscription, None] = {}
        """Those that have not ended: an agent begins one every few minutes, for as long as it lives."""

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> Pending[R]:
        """See `Api.call`."""
        agent = self._agent
        if not agent.alive:
            return Promise()
        if call.method == "GET":
            return self._api.call(call, timeout_ns=timeout_ns)
        if not agent.lives_through(f"before {call.what}"):
            return Promise()
        pending = self._api.call(call, timeout_ns=timeout_ns)
        return pending if agent.lives_through(f"after {call.what}") else Promise()

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """See `Api.watch`."""
        if not self._agent.alive:
            return _Nothing()
        own: list[Subscription] = []
        over = False

        def ended(error: ApiError | None) -> None:
            nonlocal over
            over = True
            for watch in own:
                self._watches.pop(watch, None)
            own.clear()
            on_end(error)

        watch = self._api.watch(call, on_event, ended)
        if not over:  # where nobody can be reached it ends before it is here
            own.append(watch)
            self._watches[watch] = None
        return watch

    @property
    def watches(self) -> int:
        """How many go on."""
        return len(self._watches)

    def close(self) -> None:
        """The agent is dead."""
        while self._watches:
            self._watches.popitem()[0].close()


class _Nothing:
    def close(self) -> None:
        """Nothing to close."""
