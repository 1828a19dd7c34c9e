"""A crowd at the node's server: a hundred who follow a loud log, and clients that mean no good.

Memory stays bounded, pods notice nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.api.access import read_access
from tests.real.agent import Agent
from tests.real.kubectl import Kubectl, kubectl_on, port_of
from tests.real.pods import STAY, container, pod
from tests.real.waiting import until

MIB = 2**20
FOLLOWERS = 100
SECONDS = 12.0
LIMIT_BYTES = 64 * MIB
LINE = "x" * 199
LOUD = f"yes {LINE} | head -c 1000000 > /tmp/block; while :; do cat /tmp/block; sleep 0.09; done"
"""A megabyte, about ten times a second."""
IDLE = 1000


@pytest.fixture
def kubectl(agent: Agent) -> Iterator[Kubectl]:
    with kubectl_on(agent) as found:
        yield found


class Crowd:
    """Clients of the agent's port with the token of the admin."""

    def __init__(self, agent: Agent, kubectl: Kubectl) -> None:
        self.port = port_of(agent)
        token = re.search(r"token: \"?([\w-]+)", Path(kubectl.kubeconfig).read_text())
        assert token is not None, read_access(kubectl.kubeconfig)
        self.head = f"Host: node\r\nAuthorization: Bearer {token[1]}\r\n"
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE

    @asynccontextmanager
    async def connected(self, text: str) -> AsyncIterator[asyncio.StreamReader]:
        """A connection on which this was sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.tls)
        writer.write(text.encode())
        try:
            yield reader
        finally:
            writer.transport.abort()

    async def follow(self, name: str, ends: float, *, slowly: bool) -> int:
        """How many bytes came until then."""
        got = 0
        text = f"GET /containerLogs/default/{name}/main?follow=true&tailLines=1 HTTP/1.1\r\n{self.head}\r\n"
        async with self.connected(text) as reader:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ends - time.monotonic()):
                    while data := await reader.read(65536):
                        got += len(data)
                        if slowly:
                            await asyncio.sleep(1.0)
        return got


def memory_of(agent: Agent) -> int:
    """Bytes of the agent in memory."""
    status = Path(f"/proc/{agent.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


class Highest:
    """The most memory of the agent, looked at all the while."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.before = self.bytes = memory_of(agent)

    def _look(self) -> None:
        while not self._ends.wait(0.1):
            self.bytes = max(self.bytes, memory_of(self._agent))

    def __enter__(self) -> Highest:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    @property
    def grown(self) -> int:
        return self.bytes - self.before


def test_a_hundred_followers_of_a_loud_log_cost_little_memory(agent: Agent, kubectl: Kubectl) -> None:
    name = kubectl.run(pod("loud", container(script=LOUD)))
    until(lambda: kubectl("logs", name, "--tail=1"), 30, "it does not write")
    crowd = Crowd(agent, kubectl)

    async def everybody() -> list[int]:
        ends = time.monotonic() + SECONDS
        return await asyncio.gather(*(crowd.follow(name, ends, slowly=i % 4 == 0) for i in range(FOLLOWERS)))

    # What the first of its kind brings into memory is no matter of how many there are.
    asyncio.run(crowd.follow(name, time.monotonic() + 2, slowly=False))
    with Highest(agent) as highest:
        got = asyncio.run(everybody())
    print(f"{FOLLOWERS} followers got {sum(got) / MIB / SECONDS:.0f} MiB/s, {highest.grown / MIB:.1f} MiB more memory")
    assert all(got), got
    assert highest.grown < LIMIT_BYTES
    assert kubectl("exec", name, "--", "echo", "fine") == "fine\n"


def test_clients_that_mean_no_good_are_refused_and_pods_notice_nothing(agent: Agent, kubectl: Kubectl) -> None:
    name = kubectl.run(pod("web", container(script=f"echo hello; {STAY}")))
    crowd = Crowd(agent, kubectl)
    half_open = f"POST /exec/default/{name}/main?command=cat&input=1&output=1 HTTP/1.1\r\n{crowd.head}"
    half_open += "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n"

    async def status(text: str) -> bytes:
        async with crowd.connected(text) as reader:
            return (await reader.readline()).split(b" ")[1]

    async def attacked() -> None:
        async with contextlib.AsyncExitStack() as open_:
            for _ in range(IDLE):
                await open_.enter_async_context(crowd.connected(""))
            # A head that does not end, one that has ended and asks for a session that is never spoken in.
            for text in (half_open, half_open + "\r\n"):
                for _ in range(20):
                    await open_.enter_async_context(crowd.connected(text))
            assert await status(f"GET /pods HTTP/1.1\r\n{crowd.head}X: {'y' * 200_000}") == b"431"
            assert await status(f"GET /containerLogs/../../../etc/passwd HTTP/1.1\r\n{crowd.head}\r\n") == b"400"
            assert await status(f"GET /logs/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n{crowd.head}\r\n") == b"400"
            assert await status("GET /pods HTTP/1.1\r\nHost: n\r\n\r\n") == b"401"
            assert await status(f"GET /healthz HTTP/1.1\r\n{crowd.head}\r\n") == b"200"
            assert await asyncio.to_thread(kubectl, "logs", name) == "hello\n"
            assert await asyncio.to_thread(kubectl, "exec", name, "--", "echo", "fine") == "fine\n"

    with Highest(agent) as highest:
        asyncio.run(attacked())
    print(f"{highest.grown / MIB:.1f} MiB more memory")
    assert highest.grown < 96 * MIB
    told = kubectl("get", "pod", name, "-o", "jsonpath={.status.phase} {.status.containerStatuses[0].restartCount}")
    assert told == "Running 0"
    assert kubectl("get", "node", "-o", "jsonpath={.items[0].status.conditions[?(@.type=='Ready')].status}") == "True"
