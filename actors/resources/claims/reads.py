"""A part of `ResourceClaimsActor`: reads the claims of a pod from the API server.

It checks that the pod may use them. What it reads is of one moment: a pod that hears of a fault asks anew later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from actors.kernel import Actor, Message, handles
from actors.resources.claims.allowed import AllocatedClaim, may_use
from config.api.resources import RESOURCE_CLAIMS
from config.objects import ResourceClaim
from config.pods.resource_claims import PodWithClaims
from runtime.api import Api, get, in_turn_of

READ_NS = 15_000_000_000
NO_API = "claims of devices need an API server, and this node has none"


class ObjectRead(Message, frozen=True):
    """To itself: a claim of the reading of that number; None: it cannot be read (`error`)."""

    uid: str
    number: int
    name: str
    claim: ResourceClaim | None
    error: str


class _Reading(msgspec.Struct):
    """The claims of a pod that are being read. `found`: so far."""

    pod: PodWithClaims
    number: int
    found: dict[str, AllocatedClaim] = {}


class ClaimReads:
    """See the module. For a pod's UID `on_read` gets all claims by name, or `on_fault` what is wrong."""

    def __init__(
        self,
        actor: Actor,
        api: Api | None,
        on_read: Callable[[str, Mapping[str, AllocatedClaim]], None],
        on_fault: Callable[[str, str], None],
    ) -> None:
        self._actor = actor
        self._api = api
        self._on_read, self._on_fault = on_read, on_fault
        self._readings: dict[str, _Reading] = {}
        self._number = 0

    def read(self, pod: PodWithClaims) -> None:
        """Read the claims of the pod. A reading under way counts no longer."""
        api = self._api
        if api is None:
            self._on_fault(pod.uid, NO_API)
            return
        self._number += 1
        self._readings[pod.uid] = _Reading(pod, self._number)
        for each in pod.needed:
            self._read_one(api, pod, self._number, each.name)

    def forget(self, uid: str) -> None:
        """Nobody waits for the claims of this pod."""
        self._readings.pop(uid, None)

    def _read_one(self, api: Api, pod: PodWithClaims, number: int, name: str) -> None:
        uid, call = pod.uid, in_turn_of(get(RESOURCE_CLAIMS, pod.namespace, name), pod.uid)
        self._actor.attempt(
            lambda: api.call(call, timeout_ns=READ_NS), lambda claim, error: ObjectRead(uid, number, name, claim, error)
        )

    @handles(ObjectRead)
    def object_read(self, message: ObjectRead) -> None:
        """Work: the claims of one pod, of which the API has at most 64."""
        reading = self._readings.get(message.uid)
        if reading is None or reading.number != message.number:
            return
        allowed = self._allowed(reading.pod, message)
        if isinstance(allowed, str):
            del self._readings[message.uid]
            self._on_fault(message.uid, allowed)
            return
        reading.found[message.name] = allowed
        if len(reading.found) == len(reading.pod.needed):
            del self._readings[message.uid]
            self._on_read(message.uid, reading.found)

    def _allowed(self, pod: PodWithClaims, message: ObjectRead) -> AllocatedClaim | str:
        if message.claim is None:
            return f"fetch ResourceClaim {message.name}: {message.error}"
        (needed,) = (each for each in pod.needed if each.name == message.name)
        return may_use(pod, needed, message.claim)
