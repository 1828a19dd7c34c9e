"""The runtime hears which addresses pods have (spec 9.2)."""

from __future__ import annotations

from typing import Any

from actors.kernel import ActorSystem, Promise, SimulatedDispatcher
from actors.messages.pods import NodeObserved
from actors.node.pod_cidr import AGAIN_NS, PodCidrActor
from config.objects import Node, NodeSpec, ObjectMeta
from runtime.cri import CriError
from runtime.cri.errors import StatusCode
from runtime.cri.messages import UpdateRuntimeConfigResponse

SECOND_NS = 1_000_000_000


class Runtime:
    """Takes addresses, unless it is broken."""

    def __init__(self) -> None:
        self.cidrs: list[str] = []
        self.broken = False

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Promise[Any]:
        answer: Promise[Any] = Promise()
        if self.broken:
            answer.set_exception(CriError(StatusCode.UNAVAILABLE, "no runtime", verb.name))
        else:
            self.cidrs.append(request.runtime_config.network_config.pod_cidr)
            answer.set_result(UpdateRuntimeConfigResponse())
        return answer

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nobody streams here")


def node(*cidrs: str, cidr: str | None = None) -> NodeObserved:
    return NodeObserved(Node(metadata=ObjectMeta(name="n"), spec=NodeSpec(pod_cidrs=cidrs, pod_cidr=cidr)))


# (spec 9.2.5)
def test_the_addresses_of_pods_are_told_to_the_runtime_once_and_again_until_it_takes_them() -> None:
    dispatcher, runtime = SimulatedDispatcher(1), Runtime()
    actor = ActorSystem(dispatcher).spawn(PodCidrActor, runtime, name="pod-cidr")
    actor.tell(node())
    dispatcher.run_for(SECOND_NS)
    runtime.broken = True
    actor.tell(node("10.0.0.0/24", "2001:db8::/64", cidr="10.0.0.0/24"))
    dispatcher.run_for(SECOND_NS)
    assert runtime.cidrs == []
    runtime.broken = False
    dispatcher.run_for(AGAIN_NS)
    actor.tell(node("10.0.0.0/24", "2001:db8::/64", cidr="10.0.0.0/24"))
    dispatcher.run_for(100 * SECOND_NS)
    assert runtime.cidrs == ["10.0.0.0/24,2001:db8::/64"]
    actor.tell(node(cidr="10.1.0.0/24"))
    dispatcher.run_for(SECOND_NS)
    assert runtime.cidrs[1:] == ["10.1.0.0/24"]
