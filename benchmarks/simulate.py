"""What simulated pods cost: `actorlet simulate` with rising numbers of pods.

Each run has a process of its own.

    python -m benchmarks.simulate [--pods 1000,5000,10000] [--scenario everyday] [--seed 7] [--twice] [--profile 0.01]

For each number of pods it prints wall-clock and CPU seconds, CPU per pod, messages per pod, and the most memory. It
compares CPU and pods with the run before. Wall-clock seconds mean something only on a quiet machine; CPU per pod and
the ratios do on any.

`--twice` plays the first number again with the same seed and with another one, and compares the traces. `--profile`
plays the first number once more and samples the stack every few milliseconds of CPU. It prints shares by the handler of
a message, down to the given share.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from types import FrameType
from typing import Any

from cli.simulate import command as simulate

MIB = 2**20
SAMPLE_S = 0.004
_KERNEL = ("/actors/kernel/", "/simulation/world/trace.py", "/simulation/node/killable.py")


@dataclass(frozen=True)
class Run:
    """The report of one run, and its CPU time with the start of the interpreter."""

    report: dict[str, Any]
    cpu_s: float


def play(scenario: str, pods: int, seed: int) -> Run:
    """One run in a process of its own. Raises CalledProcessError when it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "actorlet", "simulate", scenario, "--pods", str(pods), "--seed", str(seed)]
    done = subprocess.run([*command, "--json", "--quiet"], check=True, stdout=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(json.loads(done.stdout), cpu_s)


def told(run: Run, before: Run | None) -> dict[str, Any]:
    """One line of the result."""
    report, pods = run.report, run.report["pods"]
    line = {
        "pods": pods,
        "wall_s": round(report["wall_seconds"], 1),
        "cpu_s": round(run.cpu_s, 1),
        "cpu_ms_per_pod": round(run.cpu_s / pods * 1000, 2),
        "messages_per_pod": round(report["messages"] / pods, 1),
        "peak_mib": round(report["peak_rss_bytes"] / MIB),
        "violations": len(report["violations"]),
        "converged": report["converged"],
    }
    if before is not None:
        line["times_the_pods"] = round(pods / before.report["pods"], 2)
        line["times_the_cpu"] = round(run.cpu_s / before.cpu_s, 2)
    return line


def shares(scenario: str, pods: int, seed: int) -> list[tuple[float, str]]:
    """Shares of the CPU by handler, the largest first."""
    seen: Counter[str] = Counter()

    def look(_: int, frame: FrameType | None) -> None:
        seen[_doing(frame)] += 1

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, SAMPLE_S, SAMPLE_S)
    try:
        simulate.main([scenario, "--pods", str(pods), "--seed", str(seed), "--quiet", "--jobs", "1"])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    total = sum(seen.values())
    return [(times / total, what) for what, times in seen.most_common()]


def _doing(frame: FrameType | None) -> str:
    """The outermost function above the kernel: a message's handler, or a timer's function."""
    outermost = "the kernel"
    while frame is not None:
        code = frame.f_code
        if code.co_qualname == "SimulatedDispatcher.run_for":
            return outermost
        if not any(part in code.co_filename for part in _KERNEL):
            outermost = code.co_qualname
        frame = frame.f_back
    return "the command itself"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", default="1000,5000,10000", help="numbers of pods, each a run")
    parser.add_argument("--scenario", default="everyday")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--profile", type=float, metavar="SHARE")
    options = parser.parse_args()
    numbers = [int(number) for number in options.pods.split(",")]
    before: Run | None = None
    for pods in numbers:
        run = play(options.scenario, pods, options.seed)
        print(json.dumps(told(run, before)), flush=True)
        before = run
    if options.twice:
        hashes = [
            play(options.scenario, numbers[0], seed).report["trace_hash"]
            for seed in (options.seed, options.seed, options.seed + 1)
        ]
        print(json.dumps({"same_seed_same_trace": hashes[0] == hashes[1], "another_trace": hashes[1] != hashes[2]}))
    if options.profile is not None:
        for share, what in shares(options.scenario, numbers[0], options.seed):
            if share >= options.profile:
                print(f"{100 * share:5.1f} % {what}")


if __name__ == "__main__":
    main()
