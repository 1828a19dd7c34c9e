"""Messages between pod workers, the owner of claims, and who knows the drivers (spec 10.12)."""

from __future__ import annotations

from actors.kernel import ActorRef, Message, SoleMessage
from actors.model.resource_claims import HealthOfDevices, PodClaims
from config.pods.resource_claims import PodWithClaims


class PrepareClaims(Message, frozen=True):
    """PodWorker -> ResourceClaimsActor: make the claims of my pod ready. Asking again does no harm.

    `anew`: for a new sandbox. Otherwise what drivers said to an earlier agent counts.
    """

    worker: ActorRef
    pod: PodWithClaims
    anew: bool


class ClaimsAnswered(Message, frozen=True):
    """ResourceClaimsActor -> PodWorker: the claims are ready, or what they wait for.

    `claims`: all that are ready; None: wait for another answer, which comes by itself. `refused`: something is wrong,
    so there is an event.
    """

    claims: PodClaims | None
    text: str = ""
    refused: bool = False
    health: HealthOfDevices | None = None
    """Of the devices of `claims`; None: no status tells it (feature gate ResourceHealthStatus)."""


class TellClaims(Message, frozen=True):
    """PodWorker -> ResourceClaimsActor: tell me what my running pod has. Answered by `ClaimsTold`."""

    worker: ActorRef
    uid: str


class ClaimsTold(Message, frozen=True):
    """ResourceClaimsActor -> PodWorker: what the book has for the pod, and its health.

    `health` None: no status tells it (feature gate ResourceHealthStatus).
    """

    claims: PodClaims
    health: HealthOfDevices | None = None


class ClaimHealthTold(SoleMessage, frozen=True):
    """ResourceClaimsActor -> PodWorker: what drivers say now of the devices of its claims."""

    health: HealthOfDevices


class ReleaseClaims(Message, frozen=True):
    """PodWorker -> ResourceClaimsActor: nothing of the pod runs any more. Answered by `ClaimsReleased`."""

    worker: ActorRef
    uid: str


class ClaimsReleased(Message, frozen=True):
    """ResourceClaimsActor -> PodWorker: the pod may end.

    `waits`: claims that stay in the book until their driver is back, in words; "" for none.
    """

    waits: str = ""


class DraDriversChanged(SoleMessage, frozen=True):
    """PluginWatcherActor -> ResourceClaimsActor, ResourceSlicesActor: these drivers are registered now."""

    names: tuple[str, ...]


class ListClaims(Message, frozen=True):
    """Edge -> ResourceClaimsActor (ask): the claims that are ready by UID, as `Mapping[str, PodClaims]`."""
