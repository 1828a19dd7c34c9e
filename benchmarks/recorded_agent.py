"""What a record costs the agent as users run it: CPU, memory, disk and time, beside none.

    python -m benchmarks.recorded_agent [--pods 110] [--minutes 5] [--churn 6] [--hours 8] [--start-over]

Two agents live at the same time, one with a record. Each has an API server and a simulated runtime behind a socket,
which are processes of their own. What follows is done to both at once: all pods come, with a readiness probe every ten
seconds; then so many pods a minute end and others come (`--churn`). CPU is that of the agent's process, so a machine
that is busy changes it little. Last, the size of a record of `--hours` is scaled from that of the minutes.

`--start-over`: instead, recorded actors start over with all pods running, `--times` times. Prints for how long nothing
was known of pods. Then the record is played.

Prints a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic
from typing import Any

from actorlet._process import command
from benchmarks.live_node import IMAGE, LIMIT_S, MIB, OWN, LiveNode, live_node
from cli.inspect.local_views import PODS as PODS_VIEW
from config.api.resources import NAMESPACES, PODS
from config.objects import Container, ExecAction, Namespace, ObjectMeta, Pod, PodSpec, Probe
from runtime.api import create, delete
from runtime.http_server.local_endpoint import LocalEndpointError, ask
from runtime.records.ring import segments_of
from tests.real.waiting import until

NAMESPACE = "bench-record"
PROBE_S = 10
BURST_S = 600.0
EAGER = (sys.executable, "-m", "tests.real.eager_recording", "run")
STARTS_OVER = "the actors start over"


def bench_pod(node: str, number: int) -> Pod:
    probe = Probe(exec=ExecAction(command=("true",)), period_seconds=PROBE_S)
    container = Container(name="app", image=IMAGE, image_pull_policy="IfNotPresent", readiness_probe=probe)
    return Pod(
        metadata=ObjectMeta(name=f"pod-{number}", namespace=NAMESPACE),
        spec=PodSpec(
            node_name=node,
            automount_service_account_token=False,
            termination_grace_period_seconds=1,
            containers=(container,),
        ),
    )


class Load:
    """The pods of one node: `burst` first, then `churn`."""

    def __init__(self, node: LiveNode, record: str) -> None:
        self.node, self.record = node, record
        self._numbers: list[int] = []
        self._next = 0
        node.api.call(create(NAMESPACES, "", Namespace(metadata=ObjectMeta(name=NAMESPACE)))).result(LIMIT_S)

    def come(self, pods: int) -> set[str]:
        """Make so many pods; their names."""
        numbers = range(self._next, self._next + pods)
        self._next += pods
        self._numbers += numbers
        calls = [self.node.api.call(create(PODS, NAMESPACE, bench_pod(self.node.name, each))) for each in numbers]
        for call in calls:
            call.result(LIMIT_S)
        return {f"pod-{number}" for number in numbers}

    def go(self, pods: int) -> set[str]:
        """End the oldest ones; their names."""
        gone, self._numbers = self._numbers[:pods], self._numbers[pods:]
        for number in gone:
            self.node.api.call(delete(PODS, NAMESPACE, f"pod-{number}")).result(LIMIT_S)
        return {f"pod-{number}" for number in gone}

    def record_bytes(self) -> int:
        return sum(os.path.getsize(path) for path in segments_of(self.record)) if self.record else 0


def both_live(pods: int, minutes: float, churn: int, hours: float) -> dict[str, Any]:
    """Numbers of the agent without a record, and of the one with it."""
    with ExitStack() as after:
        record = after.enter_context(tempfile.TemporaryDirectory(prefix="actorlet-record-"))
        fields: dict[str, Any] = {"maxPods": pods + 2 * churn + 10}
        plain = after.enter_context(live_node(name="bench-plain", **fields))
        noted = after.enter_context(live_node(name="bench-noted", command=recorded(OWN, record), **fields))
        loads = {"without": Load(plain, ""), "with": Load(noted, record)}
        found: dict[str, dict[str, float]] = {who: {} for who in loads}
        before = {who: load.node.cpu_s() for who, load in loads.items()}
        begun = {who: (load.come(pods), monotonic()) for who, load in loads.items()}
        for who, (names, began) in begun.items():
            assert loads[who].node.seen.all_ready(names, BURST_S), "not all pods became Ready"
            found[who]["burst, last Ready after s"] = round(loads[who].node.seen.ready_at(names)[-1] - began, 2)
        threading.Event().wait(2 * PROBE_S)
        for who, load in loads.items():
            found[who]["burst, CPU ms per pod"] = round((load.node.cpu_s() - before[who]) / pods * 1000, 2)
        sizes, rest_from = {who: load.record_bytes() for who, load in loads.items()}, monotonic()
        at_rest = {who: load.node.cpu_s() for who, load in loads.items()}
        threading.Event().wait(6 * PROBE_S)
        for who, load in loads.items():
            share = (load.node.cpu_s() - at_rest[who]) / (monotonic() - rest_from)
            found[who]["at rest, CPU of a core"] = round(share, 4)
        at_churn = {who: load.node.cpu_s() for who, load in loads.items()}
        churned_from, size = monotonic(), loads["with"].record_bytes()
        rest_bytes_s = (size - sizes["with"]) / (churned_from - rest_from)
        while monotonic() - churned_from < 60 * minutes:
            for load in loads.values():
                load.go(1)
                load.come(1)
            threading.Event().wait(60 / churn)
        lasted_s = monotonic() - churned_from
        for who, load in loads.items():
            found[who]["with churn, CPU of a core"] = round((load.node.cpu_s() - at_churn[who]) / lasted_s, 4)
            found[who]["memory, MiB"] = round(load.node.memory_bytes() / MIB, 1)
        churn_bytes_s = (loads["with"].record_bytes() - size) / lasted_s
        scaled = sizes["with"] + churn_bytes_s * 3600 * hours
        return {
            "pods": pods,
            "probe every s": PROBE_S,
            "minutes of churn": round(lasted_s / 60, 1),
            "pods a minute": churn,
            "agents": found,
            "record of the burst, MiB": round(sizes["with"] / MIB, 2),
            "record at rest, MiB an hour": round(rest_bytes_s * 3600 / MIB, 2),
            "record with churn, MiB an hour": round(churn_bytes_s * 3600 / MIB, 2),
            f"record of {hours:g} hours with churn, scaled, MiB": round(scaled / MIB, 1),
        }


def recorded(words: Sequence[str], record: str, *more: str) -> tuple[str, ...]:
    return (*words, "--record", record, *more)


class Known:
    """For how long the agent had no answer about its pods, or did not know all of their statuses.

    `look` is called again and again.
    """

    def __init__(self, node: LiveNode, pods: int) -> None:
        self._node, self._pods = node, pods
        self._since: float | None = None
        self.unknown_ms: list[int] = []

    def look(self) -> None:
        try:
            answer = ask(self._node.root, PODS_VIEW, LIMIT_S)
            known = answer.status == 200 and answer.body.count(b'"phase":"Running"') >= self._pods
        except LocalEndpointError:
            known = False
        if known and self._since is not None:
            self.unknown_ms.append(round((monotonic() - self._since) * 1000))
            self._since = None
        elif not known and self._since is None:
            self._since = monotonic()


def start_over(pods: int, times: int) -> dict[str, Any]:
    """Start over with all pods running, so often, and play the record."""
    with tempfile.TemporaryDirectory(prefix="actorlet-record-") as record:
        eager = recorded(EAGER, record, "--record-size", "16MiB")
        with live_node(name="bench-eager", command=eager, maxPods=pods + 10) as node:
            log = f"{node.place}/agent.log"
            load = Load(node, record)
            assert node.seen.all_ready(load.come(pods), BURST_S), "not all pods became Ready"
            known = Known(node, pods)
            began = monotonic()
            counts: list[int] = []

            def so_often() -> bool:
                known.look()
                with open(log, encoding="utf-8", errors="replace") as file:
                    counts[:] = [file.read().count(STARTS_OVER)]
                return counts[0] >= times and monotonic() - began > 60

            until(so_often, 600, lambda: f"the actors started over {counts} times")
            with open(log, encoding="utf-8", errors="replace") as file:
                failed = file.read().count("Traceback")
        played_from = monotonic()
        replay = subprocess.run(command("cli.main", "replay", record), capture_output=True, text=True, check=False)
        return {
            "pods": pods,
            "started over": counts[0],
            "nothing known for ms": known.unknown_ms,
            "actors that failed": failed,
            "record, MiB": round(load.record_bytes() / MIB, 2),
            "played in s": round(monotonic() - played_from, 1),
            "replay": [replay.returncode, *replay.stdout.splitlines()],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=110)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--churn", type=int, default=6, help="pods that come and go each minute")
    parser.add_argument("--hours", type=float, default=8)
    parser.add_argument("--start-over", action="store_true")
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    if options.start_over:
        print(json.dumps(start_over(options.pods, options.times)), flush=True)
    else:
        print(json.dumps(both_live(options.pods, options.minutes, options.churn, options.hours)), flush=True)


if __name__ == "__main__":
    main()
