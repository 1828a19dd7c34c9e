"""What one pod may cost by its size: the CPU of its start, of an update and of its end.

    python -m benchmarks.pod_size [FIELD...] [--kib N] [--limit SECONDS] [--actors]

Each pod is large in one field, up to what the API accepts. It runs alone on a simulated node, in a process of its own,
in virtual time. The table says who pays: the actors and lanes that have spent most. `--actors` lists all that have
spent a millisecond, with their longest turn. A pod of thousands of containers takes hours, so pods have fewer of them
(`CONTAINERS_KIB`).
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

from benchmarks.pod_size.large_pods import CONTAINERS, LIMIT_BYTES, LONG, MANY, ROOM_BYTES, large_pod
from benchmarks.pod_size.ledger import OTHERS, CpuClock, Ledger
from benchmarks.pod_size.measured_node import MeasuredCluster

KIB = 1024
WHOLE_KIB = (LIMIT_BYTES - ROOM_BYTES) // KIB
CONTAINERS_KIB = 256
LIMIT_S = 600
MS = 10**6
NAME = "large"
HEADER = """\
| field | size, KiB | start, ms | update, ms | end, ms | most is paid by | longest turn of a shared actor |
| --- | --- | --- | --- | --- | --- | --- |"""
OF_ONE_POD = ("PodWorker", "ProbeRunner", "ClaimResolverActor", "PodCollector", "PodVolumes")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("fields", nargs="*", metavar="FIELD")
    asked.add_argument("--kib", type=int, default=0)
    asked.add_argument("--limit", type=int, default=LIMIT_S)
    asked.add_argument("--actors", action="store_true")
    asked.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = asked.parse_args()
    fields = options.fields or [*MANY, *LONG]
    if unknown := [each for each in fields if each not in {*MANY, *LONG}]:
        raise SystemExit(f"unknown field {unknown[0]!r}; known are: {', '.join([*MANY, *LONG])}")
    if options.one:
        _measure(fields[0], options.kib, actors=options.actors)
        return
    print(HEADER, flush=True)
    for field in fields:
        kib = options.kib or (CONTAINERS_KIB if field in CONTAINERS else WHOLE_KIB)
        command = [sys.executable, "-m", "benchmarks.pod_size", field, "--one", "--kib", str(kib)]
        command += ["--actors"] if options.actors else []
        ended = subprocess.run(
            command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (options.limit, options.limit))
        )
        if ended.returncode:
            print(f"| {field} | {kib:,} | failed, or took more than {options.limit} s | | | | |", flush=True)


def _measure(field: str, kib: int, *, actors: bool) -> None:
    cluster = MeasuredCluster(CpuClock())
    pod = large_pod(NAME, field, kib * KIB)
    phases = [cluster.start(pod)]
    status = cluster.status(NAME)
    phases += [cluster.update(NAME), cluster.end(NAME)]
    start, update, end = (f"{phase.of_agent() / MS:,.0f}" for phase in phases)
    payers: dict[str, int] = {}
    longest = (0, "", "")
    for phase in phases:
        for (account, purpose), entry in phase.entries.items():
            payers[account] = payers.get(account, 0) + entry.spent
            if account not in OTHERS + OF_ONE_POD and not account.startswith("lane "):
                longest = max(longest, (entry.longest, account, purpose))
    total = sum(spent for account, spent in payers.items() if account not in OTHERS)
    most = [
        f"{account} {spent / total:.0%}"
        for account, spent in sorted(payers.items(), key=lambda each: -each[1])
        if account not in OTHERS and spent > total / 10
    ]
    ran = "" if status.get("phase") == "Running" else f" ({status.get('phase')})"
    shared = f"{longest[0] / MS:,.1f} ms: {longest[1]}, {longest[2]}"
    print(f"| {field}{ran} | {kib:,} | {start} | {update} | {end} | {', '.join(most)} | {shared} |", flush=True)
    if actors:
        for name, phase in zip(("start", "update", "end"), phases, strict=True):
            _list(name, phase)


def _list(name: str, phase: Ledger) -> None:
    print(f"  {name}:")
    for (account, purpose), entry in sorted(phase.entries.items(), key=lambda each: -each[1].spent):
        if entry.spent >= MS:
            spent, longest = f"{entry.spent / MS:,.1f} ms", f"{entry.longest / MS:,.1f} ms"
            print(f"    {account:28} {purpose:24} {spent:>12} in {entry.turns:6,} turns, longest {longest}")


if __name__ == "__main__":
    main()
