"""The actor kernel: a library of its own, built on Pykka. No word of pods in it.

What Pykka does not give stands here: idle actors without threads, handlers by message type that may wait, bounded and
coalescing mailboxes, supervision, lanes for calls that hang, virtual time, and a look inside. `docs/kernel.md` tells
how the parts fit together; `docs/adding-an-actor.md` how to use them.
"""

from actors.kernel.actor import Actor
from actors.kernel.dead_letters import DeadLetter, DeadLetters
from actors.kernel.dispatcher import Cancellable, Dispatcher, Lane
from actors.kernel.errors import (
    BlockingInHandlerError,
    DeadlineExceededError,
    Interrupted,
    KernelError,
    LaneExhaustedError,
    MailboxFullError,
    NameTakenError,
    NoAnswerError,
    UnhandledMessageError,
)
from actors.kernel.handlers import handles, part
from actors.kernel.inspection import ActorInfo, EndedActors, LateActor, SystemReport
from actors.kernel.lanes import LaneReport
from actors.kernel.message import (
    ActorStopped,
    ChildFailed,
    Heartbeat,
    MailboxOverflowed,
    Message,
    describe,
)
from actors.kernel.pool_dispatcher import PoolDispatcher
from actors.kernel.promise import AskFuture, CancelledPromiseError, Pending, Promise, broken, kept
from actors.kernel.ref import ActorRef
from actors.kernel.simulated_dispatcher import SimulatedDispatcher
from actors.kernel.supervision import ESCALATE, RESTART, STOP, Action, RestartStrategy
from actors.kernel.suspension import Outcome, all_done, outcome_of
from actors.kernel.system import ActorSystem

__all__ = [
    "ESCALATE",
    "RESTART",
    "STOP",
    "Action",
    "Actor",
    "ActorInfo",
    "ActorRef",
    "ActorStopped",
    "ActorSystem",
    "AskFuture",
    "BlockingInHandlerError",
    "Cancellable",
    "CancelledPromiseError",
    "ChildFailed",
    "DeadLetter",
    "DeadLetters",
    "DeadlineExceededError",
    "Dispatcher",
    "EndedActors",
    "Heartbeat",
    "Interrupted",
    "KernelError",
    "Lane",
    "LaneExhaustedError",
    "LaneReport",
    "LateActor",
    "MailboxFullError",
    "MailboxOverflowed",
    "Message",
    "NameTakenError",
    "NoAnswerError",
    "Outcome",
    "Pending",
    "PoolDispatcher",
    "Promise",
    "RestartStrategy",
    "SimulatedDispatcher",
    "SystemReport",
    "UnhandledMessageError",
    "all_done",
    "broken",
    "describe",
    "handles",
    "kept",
    "outcome_of",
    "part",
]
