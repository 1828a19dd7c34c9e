"""How long an agent takes to start: until its health port answers, and until its node is Ready.

    python -m benchmarks.agent_start [--kubelet FILE --kubeconfig FILE]

Each agent starts several times in turn, on the simulated runtime and one API server. The first start is not counted:
it writes the byte code, as an installation does. "Without byte code" is an agent whose modules nobody has compiled, in
a directory that cannot be written to; it starts at once as the process that an agent becomes. CPU is that of the agent
when its node is Ready. A kubelet needs a real API server.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

import psutil

from benchmarks.live_node import IN_MEMORY, LIMIT_S, OWN, Seen, node_flags, plain_runtime, unmount_pods
from benchmarks.processes import embedded_apiserver, program
from config.api.resources import NODES
from runtime.api import Api, delete
from runtime.api.access import read_access
from runtime.api.lines import api_lines
from runtime.io.event_loop import LoopThread
from tests.ports import free_ports

PROCESS = Path(__file__).parents[1] / "actorlet" / "_process.py"
ROUNDS = 7
POLL_S = 0.005


class Start(NamedTuple):
    """Seconds from exec until health is ok, and until the node is Ready; seconds of CPU by then."""

    healthy_s: float
    ready_s: float
    cpu_s: float


class Agent(NamedTuple):
    """`variables` are added to those of this process."""

    name: str
    command: Sequence[str]
    variables: Mapping[str, str]


class Bench:
    """One API server and one runtime, at which agents start one after the other."""

    def __init__(self, api: Api, kubeconfig: str, socket: str, place: str) -> None:
        self._api = api
        self._kubeconfig = kubeconfig
        self._socket = socket
        self._place = place
        self._starts = 0

    def start(self, agent: Agent) -> Start:
        """Start it as a node of its own, and end it. Raises SystemExit when it does not get Ready."""
        self._starts += 1
        name = f"start-{self._starts}"
        place = f"{self._place}/{name}"
        os.mkdir(place)
        port, health = free_ports(2)
        flags = node_flags(name, place, self._kubeconfig, self._socket, {"port": port, "healthzPort": health})
        with ExitStack() as after:
            after.callback(lambda: self._api.call(delete(NODES, "", name)).exception(LIMIT_S))
            seen = after.enter_context(closing(Seen()))
            seen.follow(self._api, NODES)
            after.callback(unmount_pods, f"{place}/root")
            log = after.enter_context(open(f"{place}/agent.log", "wb"))
            began = monotonic()
            running = after.enter_context(
                program(*agent.command, *flags, stderr=log, env={**os.environ, **agent.variables})
            )
            healthy_s = _healthy_after(running, health, began, log.name)
            seen.wait({name})
            times = psutil.Process(running.pid).cpu_times()
            return Start(healthy_s, seen.ready_at({name})[0] - began, times.user + times.system)


def _healthy_after(running: subprocess.Popen[str], port: int, began: float, log: str) -> float:
    while monotonic() < began + LIMIT_S and running.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            if answer.status == 200:
                return monotonic() - began
        sleep(POLL_S)
    with open(log, encoding="utf-8", errors="replace") as file:
        raise SystemExit(f"it does not get healthy, and says:\n{file.read()[-2000:]}")


def line(name: str, starts: Sequence[Start]) -> str:
    """A row of the table: middles."""
    middles = (statistics.median(each[number] for each in starts) for number in range(3))
    return f"| {name} | " + " | ".join(f"{each:.2f} s" for each in middles) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--kubelet", metavar="FILE", help="a kubelet to start beside it")
    parser.add_argument("--kubeconfig", metavar="FILE", help="of an API server that runs, in place of the embedded one")
    options = parser.parse_args()
    with ExitStack() as after:
        beside = IN_MEMORY if os.path.isdir(IN_MEMORY) else None
        place = after.enter_context(tempfile.TemporaryDirectory(prefix="actorlet-start-", dir=beside))
        # An agent takes no variable of Python along when it becomes an isolated process.
        become = (
            sys.executable,
            "-s",
            "-P",
            "-B",
            "-X",
            f"pycache_prefix={place}/none",
            str(PROCESS),
            "cli.main",
            "run",
        )
        agents = [
            Agent("actorlet", OWN, {"PYTHONDONTWRITEBYTECODE": ""}),
            Agent("actorlet without byte code", become, {"PYTHONMALLOC": "malloc"}),
        ]
        if options.kubelet:
            agents.append(Agent("kubelet", (options.kubelet,), {}))
        kubeconfig = options.kubeconfig or f"{place}/kubeconfig"
        if options.kubeconfig is None:
            after.enter_context(embedded_apiserver(kubeconfig, "--no-tls"))
        after.enter_context(plain_runtime(f"{place}/cri.sock"))
        loop = after.enter_context(closing(LoopThread("load")))
        api = after.enter_context(closing(api_lines(read_access(kubeconfig), loop, user_agent="load", qps=None))).main
        bench = Bench(api, kubeconfig, f"{place}/cri.sock", place)
        for each in agents:
            bench.start(each)
        starts: dict[str, list[Start]] = {each.name: [] for each in agents}
        for _ in range(options.rounds):
            for each in agents:
                starts[each.name].append(bench.start(each))
    print("| agent | healthy after | Ready after | CPU by then |\n|---|---|---|---|")
    for name, found in starts.items():
        print(line(name, found))


if __name__ == "__main__":
    main()
