"""An hour of churn on a live agent: does anything grow? One command makes the report with its plots.

    python -m benchmarks.soak --minutes 60 --pods-per-minute 50 --report soak.html

Pods of ten kinds (`benchmarks.soak_pods`) come at that rate, live for 20 to 80 seconds, and are deleted. Every five
seconds the agent's memory, descriptors, threads, CPU and oldest mailbox are noted, with the number of pods. Afterwards
a burst of pods (`--burst`) comes and goes at once, to see whether its memory is given back.

A line through the last two thirds of each measure must not rise by more than its bound (`BOUNDS`). Exit status 1 when
one does, when the burst's memory stays, or when a pod is not gone in the end. `--plot` writes the plots alone, as SVG.
"""

from __future__ import annotations

import argparse
import heapq
import json
import threading
import urllib.request
from collections import Counter
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import psutil

from benchmarks import soak_pods
from benchmarks.live_node import LIMIT_S, MIB, LiveNode, live_node
from benchmarks.soak_report import MEASURES, Sample, Verdict, judged, page, plots
from config.api.resources import CONFIG_MAPS, PODS, SECRETS
from config.objects import ConfigMap, ObjectMeta, Secret
from runtime.api import ApiCall, ApiError, create, delete

SAMPLE_EVERY_S = 5.0
SEED = 20261125
GIVEN_BACK_MIB = 50
BURST_KINDS = ("plain", "volumes", "probed", "containers")


class Churn:
    """Makes the pods that are due, and deletes those that have lived."""

    def __init__(self, node: LiveNode, pods_per_minute: float) -> None:
        self._node, self._every_s = node, 60.0 / pods_per_minute
        self._chance = Random(SEED)
        self._next_s = monotonic()
        self._ends: list[tuple[float, str]] = []
        self.made: Counter[str] = Counter()
        self.unanswered = 0
        """Calls to the API server that failed: the machine was too busy for it. They are made again."""

    def step(self) -> float:
        """Do what is due; seconds until the next is."""
        now = monotonic()
        while self._next_s <= now:
            pod, lives_s = soak_pods.drawn(self._chance, self.made.total())
            self._next_s += self._every_s
            if self._is_answered(create(PODS, "default", pod)):
                self.made[pod.metadata.name.partition("-")[0]] += 1
                heapq.heappush(self._ends, (now + lives_s, pod.metadata.name))
        while self._ends and self._ends[0][0] <= now:
            name = heapq.heappop(self._ends)[1]
            if not self._is_answered(delete(PODS, "default", name)):
                heapq.heappush(self._ends, (now + 1, name))
        ahead = min([self._next_s, *(end for end, _ in self._ends[:1])])
        return max(0.0, ahead - monotonic())

    def end(self) -> None:
        for _, name in self._ends:
            remove(self._node, name)

    def _is_answered(self, call: ApiCall[Any]) -> bool:
        try:
            self._node.api.call(call).result(LIMIT_S)
        except (ApiError, TimeoutError) as failure:
            if isinstance(failure, ApiError) and failure.not_found:
                return True
            self.unanswered += 1
            return False
        return True


def remove(node: LiveNode, name: str) -> None:
    try:
        node.api.call(delete(PODS, "default", name)).result(LIMIT_S)
    except ApiError as failure:
        if not failure.not_found:
            raise


class Meter:
    """Takes the samples. Each also reads the actors and the metrics, as an observer would."""

    def __init__(self, node: LiveNode) -> None:
        self._node, self._began = node, monotonic()
        self._cpu_s, self._at = node.cpu_s(), self._began
        self.samples: list[Sample] = []

    def take(self) -> Sample:
        node, now, cpu_s = self._node, monotonic(), self._node.cpu_s()
        report = node.report()
        with urllib.request.urlopen(f"http://127.0.0.1:{node.read_only_port}/metrics", timeout=LIMIT_S) as answer:
            answer.read()
        sample = Sample(
            at_s=now - self._began,
            memory_mib=node.memory_bytes() / MIB,
            descriptors=node.process.num_fds(),
            threads=node.process.num_threads(),
            oldest_message_s=max((each.oldest_age_ns for each in report.actors), default=0) / 1e9,
            cpu_percent=100 * (cpu_s - self._cpu_s) / max(now - self._at, 0.001),
            actors=len(report.actors),
            pods=len(node.seen.pods()),
        )
        self._cpu_s, self._at = cpu_s, now
        self.samples.append(sample)
        return sample


def soak(node: LiveNode, options: argparse.Namespace) -> tuple[list[Sample], Churn]:
    """Churn for that long. What is known is reported every five minutes."""
    churn, meter, pause = Churn(node, options.pods_per_minute), Meter(node), threading.Event()
    end, next_sample = monotonic() + 60 * options.minutes, monotonic()
    while monotonic() < end:
        wait_s = churn.step()
        if monotonic() >= next_sample:
            next_sample += SAMPLE_EVERY_S
            sample = meter.take()
            if len(meter.samples) % 60 == 1:
                print(json.dumps(sample.rounded()), flush=True)
                if len(meter.samples) > 1:
                    report(options, meter.samples, churn, {})
        pause.wait(max(0.0, min(wait_s, next_sample - monotonic())))
    churn.end()
    return meter.samples, churn


def resident_mib(process: psutil.Process) -> float:
    return float(process.memory_info().rss / MIB)


def burst(node: LiveNode, count: int) -> dict[str, Any]:
    """So many pods at once, and all gone again. Memory before, at its highest, and what of it stays."""
    before = highest = resident_mib(node.process)
    pods = [soak_pods.pod(BURST_KINDS[number % len(BURST_KINDS)], f"burst-{number}") for number in range(count)]
    names = {pod.metadata.name for pod in pods}
    for answer in [node.api.call(create(PODS, "default", pod)) for pod in pods]:
        answer.result(LIMIT_S)
    node.seen.wait(names)
    highest = max(highest, resident_mib(node.process))
    for name in names:
        remove(node, name)
    node.seen.wait_gone(names)
    highest = max(highest, resident_mib(node.process))
    pause, end = threading.Event(), monotonic() + LIMIT_S
    while resident_mib(node.process) > before + GIVEN_BACK_MIB and monotonic() < end:
        pause.wait(0.5)
    return {
        "pods": count,
        "before_mib": round(before, 1),
        "highest_mib": round(highest, 1),
        "after_mib": round(resident_mib(node.process), 1),
        "given_back_after_s": round(LIMIT_S - (end - monotonic()), 1),
    }


def prepare(node: LiveNode) -> None:
    """What the pods refer to."""
    meta = ObjectMeta(name=soak_pods.MAP, namespace="default")
    node.api.call(create(CONFIG_MAPS, "default", ConfigMap(metadata=meta, data={"a": "1"}))).result(LIMIT_S)
    meta = ObjectMeta(name=soak_pods.SECRET, namespace="default")
    node.api.call(create(SECRETS, "default", Secret(metadata=meta, data={"key": "dmFsdWU="}))).result(LIMIT_S)


def report(
    options: argparse.Namespace, samples: list[Sample], churn: Churn, found: dict[str, Any]
) -> tuple[list[Verdict], dict[str, Any]]:
    """Judge what there is, and write the files that were asked for."""
    verdicts = [judged(samples, measure) for measure in MEASURES]
    result = {
        "minutes": round(samples[-1].at_s / 60, 1),
        "pods": churn.made.total(),
        "unanswered_calls": churn.unanswered,
        "kinds": dict(sorted(churn.made.items())),
        "samples": len(samples),
        "measures": {each.measure.name: each.rounded() for each in verdicts},
        **found,
    }
    if options.report:
        options.report.write_text(page(samples, verdicts, result))
    if options.plot:
        options.plot.write_text(plots(samples, verdicts))
    return verdicts, result


def run(options: argparse.Namespace) -> bool:
    """Soak, burst and report. Whether all stayed flat."""
    with live_node(maxPods=max(110, options.burst + 10)) as node:
        prepare(node)
        samples, churn = soak(node, options)
        report(options, samples, churn, {})
        node.seen.wait_gone(set(node.seen.pods()))
        report(options, samples, churn, {})
        bursts = [burst(node, options.burst)] if options.burst else []
    verdicts, result = report(options, samples, churn, {"burst": bursts[0]} if bursts else {})
    print(json.dumps(result), flush=True)
    return flat(verdicts) and all(each["after_mib"] <= each["before_mib"] + GIVEN_BACK_MIB for each in bursts)


def flat(verdicts: list[Verdict]) -> bool:
    return all(each.flat for each in verdicts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--pods-per-minute", type=float, default=50)
    parser.add_argument("--burst", type=int, default=500, help="so many pods at once in the end; 0: none")
    parser.add_argument("--report", type=Path, metavar="FILE.html")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    raise SystemExit(0 if run(parser.parse_args()) else 1)


if __name__ == "__main__":
    main()
