"""`PodCidrActor`: tells the runtime the node's pod addresses, once assigned (spec 9.2).

A controller assigns them.

It follows the Node object. After a refusal it tells the runtime again at the next change of the node, and after ten
seconds.
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, Message, SoleMessage, handles
from actors.messages.pods import NodeObserved
from runtime.cri import Cri
from runtime.cri.messages import NetworkConfig, RuntimeConfig, UpdateRuntimeConfigRequest
from runtime.cri.verbs import UPDATE_RUNTIME_CONFIG

SECOND_NS = 1_000_000_000
TIMEOUT_NS = 30 * SECOND_NS
AGAIN_NS = 10 * SECOND_NS


class CidrTold(Message, frozen=True):
    """To itself: the runtime has the addresses, or the error."""

    cidr: str
    error: str


class TellCidrAgain(SoleMessage, frozen=True):
    """To itself: try the runtime again."""


class PodCidrActor(Actor):
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, cri: Cri) -> None:
        super().__init__()
        self._cri = cri
        self._wanted = self._told = self._telling = ""

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Work: constant."""
        spec = message.node.spec
        self._wanted = ",".join(spec.pod_cidrs) or spec.pod_cidr or ""
        self._tell()

    @handles(TellCidrAgain)
    def tell_again(self, _: TellCidrAgain) -> None:
        """Work: constant."""
        self._tell()

    def _tell(self) -> None:
        cidr = self._wanted
        if not cidr or cidr == self._told or self._telling:
            return
        self._telling = cidr
        request = UpdateRuntimeConfigRequest(runtime_config=RuntimeConfig(network_config=NetworkConfig(pod_cidr=cidr)))
        self.attempt(
            lambda: self._cri.call(UPDATE_RUNTIME_CONFIG, request, timeout_ns=TIMEOUT_NS),
            lambda _, error: CidrTold(cidr, error),
        )

    @handles(CidrTold)
    def told(self, message: CidrTold) -> None:
        """Work: constant."""
        self._telling = ""
        if message.error:
            self.log.warning("the runtime does not take the pods' addresses %s: %s", message.cidr, message.error)
            self.after(AGAIN_NS, TellCidrAgain())
        else:
            self._told = message.cidr
            self._tell()
