"""What containers send is handled beside the API client, not on its loop.

A node stays Ready whatever a pod answers.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from itertools import cycle
from typing import Any

from actors.node.plan import NodeCapabilities
from cli.run.node_start import plan_of, real_capabilities, this_machine
from config.flags.command_line import parse_flags
from config.start_configuration import load_kubelet_configuration
from runtime.io.event_loop import LoopThread
from runtime.io.pending import PendingAnswer
from runtime.probes import GrpcCheck, HttpCheck, TcpCheck
from simulation.host.facts import SimulatedHostFacts
from tests.runtime.hostile_servers import GRPC_ATTACKS, HTTP_ATTACKS, TLS_ATTACKS, HostileServer

SECOND = 10**9
ROUND_TRIPS = 500


class NoRuntime:
    """Nothing here asks a runtime."""

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        raise AssertionError("the runtime is asked")

    def stream(self, *args: Any) -> Any:
        raise AssertionError("the runtime is asked")


def capabilities(api: LoopThread, containers: LoopThread, root: str) -> NodeCapabilities:
    start = load_kubelet_configuration(parse_flags([]))
    machine = this_machine("", (), SimulatedHostFacts("node", addresses=("127.0.0.1",)))
    return real_capabilities(NoRuntime(), plan_of(start, machine, root, "containerd"), api, containers)


def attacks(attackers: LoopThread, can: NodeCapabilities) -> list[Any]:
    """Functions that each ask one malicious server once."""
    made: list[Any] = []
    for scheme, kinds in (("http", HTTP_ATTACKS), ("https", TLS_ATTACKS)):
        for attack in kinds.values():
            url = f"{scheme}://127.0.0.1:{HostileServer(attackers, attack).port}/"
            made.append(lambda url=url: can.prober.probe("c", "liveness", HttpCheck(url), SECOND))
            made.append(lambda url=url: can.hooks.get("c", url, ()))
    for attack in GRPC_ATTACKS.values():
        port = HostileServer(attackers, attack).port
        made.append(lambda port=port: can.prober.probe("c", "liveness", GrpcCheck("127.0.0.1", port), SECOND))
        made.append(lambda port=port: can.prober.probe("c", "liveness", TcpCheck("127.0.0.1", port), SECOND))
    return made


async def round_trips(count: int) -> int:
    """What an API client does: a small question, a small answer, again and again over one connection."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1024):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    for _ in range(count):
        writer.write(b"lease")
        await reader.readexactly(5)
    writer.close()
    server.close()
    return count


def test_probes_and_hooks_run_on_no_loop_of_the_api_client(tmp_path: Any) -> None:
    """A loop thread starts with its first work, so the one of the API client never starts."""
    with closing(LoopThread("of-the-api")) as api, closing(LoopThread("of-containers")) as containers:
        can = capabilities(api, containers, str(tmp_path))
        with closing(LoopThread("attackers")) as attackers:
            asked = [ask() for ask in attacks(attackers, can)]
            names = {each.name for each in threading.enumerate()}
            for each in asked:
                each.cancel()
    assert "of-containers" in names
    assert "of-the-api" not in names


def test_the_loop_of_the_api_client_goes_on_while_every_kind_of_server_attacks(tmp_path: Any) -> None:
    with closing(LoopThread("of-the-api")) as api, closing(LoopThread("of-containers")) as containers:
        can = capabilities(api, containers, str(tmp_path))
        with closing(LoopThread("attackers")) as attackers:
            kinds = attacks(attackers, can)
            asking, under_way = cycle(kinds), list[PendingAnswer[Any]]()
            going = api.submit(round_trips(ROUND_TRIPS))
            answered = 0
            while not going.done():
                under_way = [each for each in under_way if not each.done()]
                while len(under_way) < len(kinds):
                    under_way.append(next(asking)())
                    answered += 1
                threading.Event().wait(0.01)  # the attackers and the loops need the interpreter
            for each in under_way:
                each.cancel()
            assert going.result(0) == ROUND_TRIPS
            assert answered >= len(kinds)
