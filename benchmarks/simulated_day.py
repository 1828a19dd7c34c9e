"""A day of a thousand pods with a probe every half minute: its cost, hour by hour.

It shows whether memory grows.

    python -m benchmarks.simulated_day [--pods 1000] [--hours 24]

It is `actorlet simulate a-day`, at most 120 s for the whole day. Prints a line of JSON for each hour (CPU seconds of
that hour, memory at its end) and one for the day. The first hour includes the starts of all pods. Exit status 1 when an
invariant was violated.
"""

from __future__ import annotations

import argparse
import json
from time import perf_counter, process_time

import psutil

from cli.silence import silence
from runtime.io.rings import few_collections
from simulation.play.play import Play
from simulation.scenarios.scenario import lasting, library_scenario, with_pods

SCENARIO = "a-day"
HOUR_S = 3600
HOUR_NS = HOUR_S * 10**9
PROBE_EVERY_S = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--hours", type=int, default=24)
    options = parser.parse_args()
    process, began, cpu_began = psutil.Process(), perf_counter(), process_time()
    with few_collections(), silence():
        play = Play(lasting(with_pods(library_scenario(SCENARIO), options.pods), f"{options.hours}h"), 1)
        for hour in range(1, options.hours + 1):
            cpu = process_time()
            play.advance(HOUR_NS)
            used = {"hour": hour, "cpu_seconds": round(process_time() - cpu, 2)}
            print(json.dumps({**used, "rss_mib": process.memory_info().rss >> 20}), flush=True)
        while not play.done:
            play.advance(HOUR_NS)
        outcome = play.outcome()
    cpu_s = process_time() - cpu_began
    probes = options.pods * options.hours * HOUR_S // PROBE_EVERY_S
    result = {
        "pods": outcome.pods,
        "messages": outcome.messages,
        "wall_seconds": round(perf_counter() - began, 1),
        "cpu_seconds": round(cpu_s, 1),
        "cpu_us_per_probe": round(1e6 * cpu_s / probes, 1),
        "trace_hash": outcome.trace_hash,
        "converged": outcome.converged,
        "violations": len(outcome.violations),
    }
    print(json.dumps(result), flush=True)
    raise SystemExit(0 if outcome.converged and not outcome.violations else 1)


if __name__ == "__main__":
    main()
