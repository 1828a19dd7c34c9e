"""The shared state of all verbs and kinds of the server.

It has the store, time, names, options, and the rules of each kind.

Everything runs under one lock, taken by `ApiServer.handle` and by every timer here. Watchers' sinks are called while it
is held: they hand over and return. Time, names and chance come from the dispatcher alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.timers import Cancellable
from config.values.api_time import second_text
from simulation.apiserver.store.moments import Moments
from simulation.apiserver.store.store import Store
from simulation.chance.chance import Chance
from simulation.validations.program import the_program
from simulation.webhooks.conversions import Conversions

SECOND_NS = 10**9
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a server. Durations in ns."""

    seed: int = 0
    """Decides generated names, keys of tokens, and when watches end."""
    authorization: str = "AlwaysAllow"
    """`AlwaysAllow`, `Node` or `RBAC`. Admins may do everything.

    `Node`: the Node authorizer and NodeRestriction limit agents. `RBAC`: roles limit the others, too.
    """
    anonymous: bool = True
    """Whether a request without credentials is let in, as an admin in AlwaysAllow mode."""
    tokens: Mapping[str, str] | None = None
    """Static bearer tokens: token -> user name (`admin`, `system:node:NAME`)."""
    issuer: str = "https://kubernetes.default.svc.cluster.local"
    service_cidr: str = "10.0.0.0/24"
    port: int = 6443
    """The port of the server, as in its own service."""
    root_ca: str = ""
    """PEM text for the ConfigMap kube-root-ca.crt of every namespace."""
    history_at_most: int = 10_000
    watch_lasts_ns: tuple[int, int] = (1800 * SECOND_NS, 3600 * SECOND_NS)
    bookmark_every_ns: int = 60 * SECOND_NS
    event_lasts_ns: int = 3600 * SECOND_NS
    node_grace_ns: int = 50 * SECOND_NS
    """A node whose lease and status are older is Unknown; 0: nobody looks."""
    node_monitor_every_ns: int = 5 * SECOND_NS
    garbage_collection: bool = False
    """Whether what is owned goes with its owners; without it the policies of deletions mean nothing."""
    storage_protection: bool = True
    """Whether claims and volumes that nobody uses lose their protection.

    Else a controller manager must see to it.
    """
    quota_usage: bool = True
    """Whether the server says what a quota limits and how much is used.

    Else a controller manager must, or nothing is limited.
    """


class Core:
    def __init__(self, clock: Dispatcher, options: Options) -> None:
        self.options = options
        self.collects_garbage = options.garbage_collection
        self.moments = Moments()
        self.store = Store(history_at_most=options.history_at_most)
        self.lock = threading.RLock()
        self.rule_program = the_program()
        self.conversions = Conversions()
        self._schedule = clock.schedule
        self._chance = Chance(f"API server {options.seed}")
        # Asked at every request: no call of ours between.
        self.now_ns = clock.now_ns
        self.wall_ns = clock.wall_ns
        self.new_uid = clock.new_uid

    def timestamp(self) -> str:
        """The time of day as the API writes it: RFC3339, whole seconds, UTC."""
        return second_text(self.wall_ns() // SECOND_NS)

    def suffix(self, length: int = 5) -> str:
        """The random suffix for a generateName."""
        return _letters(self._chance.bits(), length)

    @staticmethod
    def suffix_of(content: bytes) -> str:
        """The suffix that looks random, and is always the same for the same content."""
        return _letters(int.from_bytes(blake2b(content, digest_size=8).digest()), 5)

    def between(self, low: int, high: int) -> int:
        return self._chance.between(low, high)

    def after(self, ns: int, fn: Callable[[], object]) -> Cancellable:
        """Call `fn` under the lock in `ns` ns."""

        def run() -> None:
            with self.lock:
                fn()

        return self._schedule(ns, run)


def seconds_of(timestamp: str) -> int:
    """Seconds since 1970 of an RFC3339 time. Raises ValueError."""
    return int(datetime.fromisoformat(timestamp).timestamp())


def _letters(bits: int, length: int) -> str:
    text = ""
    for _ in range(length):
        bits, letter = divmod(bits, len(_LETTERS))
        text += _LETTERS[letter]
    return text
