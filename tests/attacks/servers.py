"""What a container can put behind the port of its probe or hook (point 3)."""

from __future__ import annotations

from typing import Any

from tests.attacks.target import Target
from tests.real.agent import NODE
from tests.real.pods import container, pod
from tests.runtime.hostile_servers import GRPC_ATTACKS, HTTP_ATTACKS, HostileServer

PROBED = ("100 Continue", "blank chunks", "tiny chunks", "a body without end", "a packed body", "header lines")
HOOKED = ("100 Continue", "blank chunks", "one header")
CALLED = ("settings", "a message of 1 GiB")
HOST = "127.0.0.1"
TIMES = 3


def _probing(check: dict[str, Any]) -> dict[str, Any]:
    return {"readinessProbe": {**check, "periodSeconds": 1, "timeoutSeconds": 2}}


def answers_without_end(target: Target) -> None:
    """Every probe asks its server a few times."""
    probed = {name: HostileServer(target.loop, HTTP_ATTACKS[name]) for name in PROBED}
    called = {name: HostileServer(target.loop, GRPC_ATTACKS[name]) for name in CALLED}
    documents = [
        pod(f"asks-{number}", container(**_probing({"httpGet": {"host": HOST, "port": server.port}})))
        for number, server in enumerate(probed.values())
    ]
    # gRPC goes to the pod's own address, which is the host's here.
    for number, server in enumerate(called.values()):
        check = container(**_probing({"grpc": {"port": server.port}}))
        documents.append(pod(f"calls-{number}", check, hostNetwork=True))
    for server in (HostileServer(target.loop, HTTP_ATTACKS[name]) for name in HOOKED):
        probed[f"hook {server.port}"] = server
        hook = {"postStart": {"httpGet": {"host": HOST, "port": server.port}}}
        documents.append(pod(f"hooks-{server.port}", container(lifecycle=hook), restartPolicy="Never"))
    with target.pods(*documents):

        def asked() -> dict[str, int]:
            return {name: server.asked for name, server in probed.items()}

        target.agent.await_that(
            lambda: all(times >= (1 if name.startswith("hook") else TIMES) for name, times in asked().items()),
            f"not all were asked: {asked()}",
            120,
        )
    assert NODE
