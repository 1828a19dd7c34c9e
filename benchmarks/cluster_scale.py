"""What many pods on many nodes of one simulated cluster cost: time, CPU and memory.

    python -m benchmarks.cluster_scale [--runs 1000x100 2000x100 5000x100 10000x100 1000x10 ...] [--plot FILE]
    python -m benchmarks.cluster_scale --pods 100000 --nodes 1000

A run is pods x nodes. `--pods` and `--nodes` are one run. Each has a cluster of its own (`actorlet.testing.cluster`),
which is a process. This process is the test's user. It creates the pods over HTTP one after the other, without a node,
and the built-in scheduler binds them. It lets time pass until all are Running, deletes them with one request, and lets
time pass until none is left.

Prints a line of JSON for each run, then a table. "Times" says how much time, or CPU, one pod takes, divided by what it
takes in the smallest run on as many nodes. "Per pod" is the memory that the pods add to that of the nodes alone.
`--plot` draws all into an SVG file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import psutil

from actorlet.testing import Cluster, cluster
from benchmarks.line_plot import Panel, line_plot

RUNS = ("1000x100", "2000x100", "5000x100", "10000x100", "1000x10", "1000x30", "1000x300")
PODS = "/api/v1/namespaces/default/pods"
SPEC = {"containers": [{"name": "app", "image": "nginx"}]}
LIMIT = "1h"


@dataclass(frozen=True)
class Run:
    """One cluster. Times are real seconds.

    `ready_s`: until its nodes were Ready. `created_s`, `running_s` and `gone_s` follow one another. `ended_s`: until
    its process was gone. `cpu_s` of that process is without the start and the end; `peak_mib` is the most memory.
    `pod_kib`: what a pod adds to the memory of the nodes while all are Running.
    """

    pods: int
    nodes: int
    ready_s: float
    created_s: float
    running_s: float
    gone_s: float
    ended_s: float
    cpu_s: float
    peak_mib: float
    pod_kib: float

    @property
    def pods_s(self) -> float:
        """How long the pods took, from the first creation to the end of the last one."""
        return self.created_s + self.running_s + self.gone_s

    def rounded(self) -> dict[str, float]:
        """For people who read the JSON."""
        return {name: round(value, 2) for name, value in asdict(self).items()}


# --- a run ------------------------------------------------------------------------------------------------------------


def run(pods: int, nodes: int) -> Run:
    """One run. Raises TimeoutError when pods do not run or go within the limit."""
    laps = _Laps()
    with cluster(nodes=nodes, tls=False) as crowd:
        ready_s, process = laps.next(), psutil.Process(crowd.pid)
        cpu_before, empty_bytes = _cpu_s(process), process.memory_info().rss
        api = _Api(crowd)
        for number in range(pods):
            api.ask("POST", PODS, {"metadata": {"name": f"web-{number}"}, "spec": SPEC})
        created_s = laps.next()
        crowd.until(lambda: not api.lists(f"{PODS}?fieldSelector=status.phase!%3DRunning&limit=1"), within=LIMIT)
        running_s, pods_bytes = laps.next(), process.memory_info().rss - empty_bytes
        api.ask("DELETE", PODS)
        crowd.until(lambda: not api.lists(f"{PODS}?limit=1"), within=LIMIT)
        gone_s = laps.next()
        cpu_s, peak_mib = _cpu_s(process) - cpu_before, _peak_mib(crowd.pid)
    pod_kib = pods_bytes / pods / 1024
    return Run(pods, nodes, ready_s, created_s, running_s, gone_s, laps.next(), cpu_s, peak_mib, pod_kib)


class _Laps:
    def __init__(self) -> None:
        self._since = monotonic()

    def next(self) -> float:
        """The seconds since the last call."""
        now = monotonic()
        passed, self._since = now - self._since, now
        return passed


class _Api:
    """A client with one connection."""

    def __init__(self, crowd: Cluster) -> None:
        url = urlsplit(crowd.url)
        assert url.hostname is not None
        self._connection = HTTPConnection(url.hostname, url.port)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        text = None if body is None else json.dumps(body)
        self._connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {said.decode(errors='replace')}")
        return json.loads(said)

    def lists(self, path: str) -> list[Any]:
        items: list[Any] = self.ask("GET", path)["items"]
        return items


def _cpu_s(process: psutil.Process) -> float:
    return sum(process.cpu_times()[:2])


def _peak_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


# --- the report -------------------------------------------------------------------------------------------------------


def table(runs: Sequence[Run]) -> str:
    """A Markdown table."""
    names = ("pods", "nodes", "nodes Ready", "created", "all Running", "all gone", "pods in all", "times", "CPU")
    rows: list[Sequence[str]] = [(*names, "times", "peak memory", "per pod"), ["---"] * (len(names) + 3)]
    for each in runs:
        least = min((other for other in runs if other.nodes == each.nodes), key=lambda other: other.pods)
        rows.append(
            (
                f"{each.pods:,}",
                f"{each.nodes:,}",
                *(f"{step:.1f} s" for step in (each.ready_s, each.created_s, each.running_s, each.gone_s)),
                f"{each.pods_s:.1f} s",
                _times(each.pods_s / each.pods, least.pods_s / least.pods),
                f"{each.cpu_s:.1f} s",
                _times(each.cpu_s / each.pods, least.cpu_s / least.pods),
                f"{each.peak_mib:,.0f} MiB",
                f"{each.pod_kib:,.0f} KiB",
            )
        )
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _times(of_a_pod: float, least: float) -> str:
    return f"{of_a_pod / least:.2f}"


def plot(runs: Sequence[Run]) -> str:
    """Panels of time and memory: over pods with one number of nodes, then over nodes. SVG."""
    panels: list[Panel] = []
    for over, fixed in (("pods", "nodes"), ("nodes", "pods")):
        value = _most_frequent([getattr(each, fixed) for each in runs])
        shown = [each for each in runs if getattr(each, fixed) == value]
        at = [getattr(each, over) for each in shown]
        title = f"over {over}; {value:,} {fixed}"
        times = {
            "the nodes are Ready": [each.ready_s for each in shown],
            "the pods are created": [each.created_s for each in shown],
            "all are Running": [each.running_s for each in shown],
            "all are gone": [each.gone_s for each in shown],
        }
        panels.append(
            Panel(f"seconds {title}", {name: list(zip(at, each, strict=True)) for name, each in times.items()})
        )
        panels.append(
            Panel(f"MiB {title}", {"peak memory": [(x, each.peak_mib) for x, each in zip(at, shown, strict=True)]})
        )
    return line_plot(panels)


def _most_frequent(values: Sequence[int]) -> int:
    return max(values, key=values.count)


def runs(words: Sequence[str]) -> Iterator[Run]:
    for word in words:
        pods, _, nodes = word.partition("x")
        yield run(int(pods), int(nodes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", nargs="+", default=RUNS, metavar="PODSxNODES")
    parser.add_argument("--pods", type=int, metavar="N", help="one run with so many pods, instead of --runs")
    parser.add_argument("--nodes", type=int, default=100, metavar="N", help="the nodes of that run (%(default)s)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the table into this SVG file")
    options = parser.parse_args()
    done: list[Run] = []
    for each in runs(options.runs if options.pods is None else (f"{options.pods}x{options.nodes}",)):
        done.append(each)
        print(json.dumps(each.rounded()), flush=True)
    print(table(done))
    if options.plot is not None:
        options.plot.write_text(plot(done))


if __name__ == "__main__":
    main()
