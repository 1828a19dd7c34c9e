"""The actor kernel: a library of its own, built on Pykka. It knows nothing of pods.

It adds to Pykka: idle actors without threads, handlers by message type that may wait, bounded and coalescing mailboxes,
supervision, lanes for calls that hang, virtual time, and inspection. Open `cell.py` first. `docs/explanation/kernel.md`
tells how the parts fit together, `docs/how-to/adding-an-actor.md` how to use them.
"""

from actors.kernel.actor import Actor
from actors.kernel.dead_letters import DeadLetter, DeadLetters
from actors.kernel.dispatcher import Dispatcher, Lane, LaneReport
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
from actors.kernel.health import LateActor
from actors.kernel.inspection import ActorInfo, EndedActors, SystemReport
from actors.kernel.message import (
    ActorStopped,
    ChildFailed,
    Heartbeat,
    MailboxOverflowed,
    Message,
    SoleMessage,
    describe,
)
from actors.kernel.pool_dispatcher import PoolDispatcher
from actors.kernel.promise import (
    AskFuture,
    CancelledPromiseError,
    Outcome,
    Pending,
    Promise,
    all_done,
    broken,
    kept,
    outcome_of,
)
from actors.kernel.ref import ActorRef
from actors.kernel.simulated_dispatcher import SimulatedDispatcher
from actors.kernel.supervision import ESCALATE, RESTART, STOP, Action, RestartStrategy
from actors.kernel.system import ActorSystem
from actors.kernel.timers import Cancellable
from actors.kernel.turns import KeyReport, Rank
