"""Records of the `PodCertificatesActor`, one per projection, and its messages to itself."""

from __future__ import annotations

import msgspec

from actors.cluster.pod_certificate_rules import Asked, CertificateVerdict, Issued
from actors.kernel import Message, SoleMessage
from actors.messages.references import CertificatePlace
from config.objects import Pod, PodCertificateProjection, PodCertificateRequest, ServiceAccount
from runtime.state.pod_keys import PodKey


class ProjectionKey(msgspec.Struct, frozen=True):
    uid: str
    place: CertificatePlace


class StepEnded(Message, frozen=True):
    """To itself: one step of asking has ended. `value`: its result; None with an `error`."""

    key: ProjectionKey
    flight: int
    value: ServiceAccount | PodKey | PodCertificateRequest | None
    error: str


class AskAgain(Message, frozen=True):
    """To itself: the pause after a failure is over."""

    key: ProjectionKey


class LookAtAll(SoleMessage, frozen=True):
    """To itself, each minute: some certificate may be due."""


class HeldProjection(msgspec.Struct, eq=False):
    """One projection.

    `flight`: the number of the steps under way, 0 for none. `refused`: why it ended for good, by this `verdict`.
    `account`, `key`: results of the steps under way. `said`: events that were sent of `issued`. `counted`: signer and
    state, as the metric counts it.
    """

    pod: Pod
    projection: PodCertificateProjection
    issued: Issued | None = None
    asked: Asked | None = None
    refused: str = ""
    verdict: CertificateVerdict | None = None
    error: str = ""
    flight: int = 0
    account: str = ""
    key: PodKey | None = None
    failures: int = 0
    retry_ns: int = 0
    said: tuple[str, ...] = ()
    counted: tuple[str, str] | None = None
