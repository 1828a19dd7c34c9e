"""Requests of a test's own programs that fail by order.

They get the Status of a real API server, or no answer. `FailingRequests` stands between clients over HTTP and the API
server. Agents and the kit itself do not come over HTTP. A kube-controller-manager that the kit has started does, and is
spared, too. So are discovery and metrics, which are no requests to stored resources.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import msgspec

from config.values.nearest import did_you_mean
from simulation.apiserver.front.watches import Clients
from simulation.apiserver.requests.answers import Answer, WatchAnswer, refused
from simulation.apiserver.requests.calls import ApiRequest, ResourceCall
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import (
    MODIFIED,
    StatusError,
    already_exists,
    conflict,
    expired,
    forbidden,
    internal_error,
    not_found,
    unauthorized,
    unavailable,
)
from simulation.cluster.orders import FailRequests, OrderError, ns_of
from simulation.operators.called import call_in, name_of, resource_names

ORDERED = "ordered by the test"
USUAL_RETRY_AFTER = "1s"
SHOWN_AT_MOST = 5
_SPARED = "kube-controller-manager/"
"""The beginning of the User-Agent of a program of the kit."""
_SECOND_NS = 10**9
_BROKEN = ("no-answer", "lost-answer", "cut")
_STATUS: Mapping[str, Callable[[ResourceCall], StatusError]] = {
    "Unauthorized": lambda call: unauthorized(),
    "Forbidden": lambda call: forbidden(call.resource, call.name, ORDERED),
    "NotFound": lambda call: not_found(call.resource, call.name),
    "AlreadyExists": lambda call: already_exists(call.resource, name_of(call)),
    "Conflict": lambda call: conflict(call.resource, name_of(call), MODIFIED),
    "Expired": lambda call: expired("The provided continue parameter or resource version is too old"),
    "TooManyRequests": lambda call: StatusError(
        429, "TooManyRequests", "Too many requests, please try again later.", {}
    ),
    "InternalError": lambda call: internal_error(ORDERED),
    "ServerTimeout": lambda call: StatusError(
        500,
        "ServerTimeout",
        f"The {call.verb} operation against {call.resource.group_resource} could not be completed at this time, "
        "please try again.",
        {"kind": call.resource.plural},
    ),
    "ServiceUnavailable": lambda call: unavailable("the server is currently unable to handle the request"),
    "Timeout": lambda call: StatusError(
        504, "Timeout", "Timeout: request did not complete within the allotted timeout", {}
    ),
}


@dataclass(eq=False)
class _Ordered:
    order: FailRequests
    retry_after_s: int | None
    struck: int = 0
    met: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when requests hang no more."""

    def is_spent(self) -> bool:
        return 0 < self.order.times <= self.struck


class FailingRequests:
    """The orders of one cluster. Of those that a request matches, the first with failures left strikes."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._orders: list[_Ordered] = []
        self._seen: dict[str, None] = {}
        """`VERB RESOURCE` of the requests since the first order."""

    def add(self, order: FailRequests) -> None:
        """Raises OrderError for words that mean nothing to this error."""
        if order.error in _BROKEN and (order.retry_after or order.message):
            raise OrderError(f"{order.error} has no answer; leave out retry_after and message")
        text = order.retry_after or (USUAL_RETRY_AFTER if order.error == "TooManyRequests" else "")
        seconds, rest = divmod(ns_of(text), _SECOND_NS) if text else (None, 0)
        if rest:
            raise OrderError(f"retry_after {text!r} is not in whole seconds")
        self._orders.append(_Ordered(order, seconds))

    def forget(self) -> None:
        """End all orders; requests that hang get a broken connection."""
        for each in self._orders:
            each.over.set()
        self._orders.clear()
        self._seen.clear()

    def unmet(self) -> list[str]:
        """The orders that no request has matched, one sentence each."""
        return [
            f"no request has matched {_shown(each.order)}; {self._hint(each.order.resource)}"
            for each in self._orders
            if not each.met
        ]

    async def answer(
        self, clients: Clients, asked: ApiRequest, user_agent: str, carry_out: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """See `http_front.Between`. `clients` hears of requests that hang."""
        call = call_in(self._server, asked) if self._orders and not user_agent.startswith(_SPARED) else None
        struck = None if call is None else self._strike(call)
        if call is None or struck is None:
            return await carry_out()
        error = struck.order.error
        if error == "no-answer":
            with clients.waiting():
                await struck.over.wait()
        elif error == "lost-answer":
            done = await carry_out()
            if isinstance(done, WatchAnswer):
                with self._server.lock:
                    done.watcher.end()
        if error in _BROKEN:
            raise ConnectionResetError(f"{error} {ORDERED}")
        return refused(_status_of(struck, call))

    def _strike(self, call: ResourceCall) -> _Ordered | None:
        self._seen[f"{call.verb} {resource_names(call)[-1]}"] = None
        matching = [each for each in self._orders if _matches(each.order, call)]
        for each in matching:
            each.met = True
        found = next((each for each in matching if not each.is_spent()), None)
        if found is not None:
            found.struck += 1
        return found

    def _hint(self, resource: str) -> str:
        names = {name for one in self._server.served for name in (one.plural, one.group_resource)}
        plain = resource.partition("/")[0]
        if not any(fnmatchcase(name, plain) for name in names):
            return did_you_mean(plain, names, f"no resource is called {plain!r}")
        seen = sorted(self._seen)
        more = f" and {len(seen) - SHOWN_AT_MOST} more" if len(seen) > SHOWN_AT_MOST else ""
        return f"requests since then: {', '.join(seen[:SHOWN_AT_MOST]) or 'none'}{more}"


def _matches(order: FailRequests, call: ResourceCall) -> bool:
    return (
        order.verb in ("*", call.verb)
        and any(fnmatchcase(name, order.resource) for name in resource_names(call))
        and fnmatchcase(call.namespace, order.namespace)
        and fnmatchcase(call.user.name, order.user)
        and (order.name == "*" or fnmatchcase(name_of(call), order.name))
    )


def _status_of(struck: _Ordered, call: ResourceCall) -> StatusError:
    error, seconds = _STATUS[struck.order.error](call), struck.retry_after_s
    error.message = struck.order.message or error.message
    if seconds is not None:
        error.retry_after_s = seconds
        error.details = {**(error.details or {}), "retryAfterSeconds": seconds}
    return error


def _shown(order: FailRequests) -> str:
    words = msgspec.structs.asdict(order)
    patterns = [(name, words[name]) for name in ("verb", "resource", "name", "namespace", "user")]
    said = [f"{name}={value!r}" for name, value in patterns if value != "*"]
    return f"fail_requests({', '.join([repr(order.error), *said])})"
