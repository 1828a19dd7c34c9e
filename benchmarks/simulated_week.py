"""A virtual week of churn on one simulated node: does anything of the agent grow?

    python -m benchmarks.simulated_week --report week.html --plot week.svg [--hours 168] [--pods 9]

So many pods are there at a time. Each lives for 5 to 50 minutes, is deleted, and is followed by another. There are pods
with probes, with volumes, and with two containers; jobs that complete; and pods that crash. Every virtual hour the
tables of all actors are counted (`benchmarks.agent_tables`), with the objects, mailboxes and actors of the agent. The
memory of the process is measured too: the process is agent, runtime and API server in one.

A line through the last two thirds of each measure must not rise by more than its bound. Exit status 1 when one does, or
when the world has broken a rule; then the tables that grew most are named.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import psutil

from benchmarks.agent_tables import live_objects, tables
from benchmarks.soak_report import Measure, judged, page, plots
from cli.silence import silence
from runtime.io.rings import few_collections
from simulation.play.play import Play
from simulation.scenarios.pods import ContainerMix, PodMix, VolumeMix
from simulation.scenarios.scenario import Scenario

HOUR_S = 3600
HOUR_NS = HOUR_S * 10**9
MIB = 2**20
NAMED = 8
"""Of the tables that grew, so many are named."""
MEASURES = (
    Measure("table_entries", "entries of all tables of all actors", 100.0),
    Measure("objects", "objects of the agent", 60.0),
    Measure("waiting_messages", "messages in mailboxes", 2.0),
    Measure("oldest_message_s", "age of the oldest message in a mailbox, s", 0.5),
    # More than the agent's: the history of the API server fills for days, and the world notes each pod.
    Measure("memory_mib", "memory of agent, runtime and API server (RSS), MiB", 10.0),
    Measure("descriptors", "open descriptors", 0.5),
    Measure("threads", "threads", 0.5),
    Measure("actors", "actors", 5.0),
    Measure("pods", "pods", 1.0),
)


@dataclass(frozen=True)
class WeekSample:
    """The node at the end of a virtual hour."""

    at_s: float
    table_entries: int
    objects: int
    waiting_messages: int
    oldest_message_s: float
    memory_mib: float
    descriptors: int
    threads: int
    actors: int
    pods: int


def scenario(pods: int, hours: int) -> Scenario:
    """A third of the pods are plain ones with a probe; the others have something special each."""
    probed = ContainerMix(name="app", readiness_every=30)
    kinds = (
        PodMix(name="web", count=pods - 6 * (pods // 9), containers=(probed,)),
        PodMix(name="volumes", count=pods // 9, volumes=(VolumeMix("settings", "configMap"), VolumeMix("own"))),
        PodMix(name="pair", count=pods // 9, containers=(ContainerMix(name="app"), ContainerMix(name="side"))),
        PodMix(
            name="job",
            count=2 * (pods // 9),
            restart_policy="Never",
            containers=(ContainerMix(name="a", runs_for="10s"),),
        ),
        PodMix(
            name="crash", count=2 * (pods // 9), hopeless=True, containers=(ContainerMix(name="a", runs_for="20s"),)
        ),
    )
    return Scenario(
        about="a week of churn",
        pods=tuple(replaced(each) for each in kinds),
        lasts=f"{hours}h",
    )


def replaced(mix: PodMix) -> PodMix:
    return msgspec.structs.replace(mix, lives=("5m", "50m"), replaced=True)


class Week:
    """The play, and what was counted of it."""

    def __init__(self, pods: int, hours: int) -> None:
        self.play = Play(scenario(pods, hours), 1)
        self.samples: list[WeekSample] = []
        self._process = psutil.Process()
        self._first: Counter[str] = Counter()
        """The tables and objects after the first third."""
        self._last: Counter[str] = Counter()
        self._warm = hours // 3

    def hour(self) -> None:
        self.play.advance(HOUR_NS)
        world = self.play.world
        entries, objects = tables(world), live_objects()
        [node] = world.nodes.values()
        actors = node.node.system.report().actors
        self.samples.append(
            WeekSample(
                at_s=len(self.samples) * HOUR_S + HOUR_S,
                table_entries=entries.total(),
                objects=objects.total(),
                waiting_messages=sum(each.mailbox_depth for each in actors),
                oldest_message_s=max(each.oldest_age_ns for each in actors) / 1e9,
                memory_mib=self._process.memory_info().rss / MIB,
                descriptors=self._process.num_fds(),
                threads=self._process.num_threads(),
                actors=len(actors),
                pods=len(node.node.pods()),
            )
        )
        self._last = entries + objects
        if len(self.samples) == max(1, self._warm):
            self._first = self._last

    def grown(self) -> dict[str, int]:
        """What has grown most since the first third."""
        return dict((self._last - self._first).most_common(NAMED))


def run(options: argparse.Namespace) -> bool:
    began = perf_counter()
    with few_collections(), silence():
        week = Week(options.pods, options.hours)
        for _ in range(options.hours):
            week.hour()
            if len(week.samples) % 24 == 0:
                print(json.dumps(asdict(week.samples[-1])), flush=True)
    samples, outcome = week.samples, week.play.outcome()
    verdicts = [judged(samples, measure) for measure in MEASURES]
    result: dict[str, Any] = {
        "minutes": options.hours * 60,
        "pods": outcome.pods,
        "wall_seconds": round(perf_counter() - began, 1),
        "messages": outcome.messages,
        "violations": len(outcome.violations),
        "measures": {each.measure.name: each.rounded() for each in verdicts},
        "grown": week.grown(),
    }
    if options.report:
        options.report.write_text(page(samples, verdicts, result))
    if options.plot:
        options.plot.write_text(plots(samples, verdicts))
    print(json.dumps(result), flush=True)
    return all(each.flat for each in verdicts) and not outcome.violations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=int, default=168)
    parser.add_argument("--pods", type=int, default=9, help="at a time, a multiple of nine")
    parser.add_argument("--report", type=Path, metavar="FILE.html")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    raise SystemExit(0 if run(parser.parse_args()) else 1)


if __name__ == "__main__":
    main()
