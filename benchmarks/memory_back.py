"""Whether an agent gives its memory back after bursts of pods.

    python -m benchmarks.memory_back [--pods 300] [--large 50] [--scale 1.0] [--stay 20] [--rest 60]

The agent, the API server and the simulated runtime are processes of their own. A few small pods come first, so that
all its code has run once. Then the bursts come one after the other: `--pods` ordinary pods, twice, then `--large` pods
of each kind of large text. A burst is created at once, stays for a while, and is deleted.

Prints a row for each burst: the resident memory of the agent before it, the most during it, when its last pod was gone,
and `--rest` seconds later. Exit status 1: after some burst it did not come back to within 20 MiB of before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from benchmarks.live_node import IMAGE, LIMIT_S, MIB, LiveNode, live_node
from config.api.resources import PODS
from config.documents.codec import from_builtins
from config.objects import Pod
from runtime.api import create, delete

BACK_WITHIN_MIB = 20.0
LARGE_BYTES = 1_000_000
WARM_PODS = 20
GONE_LIMIT_S = 600.0
SLEEPS = {"name": "app", "image": IMAGE, "command": ["sleep", "1000000"]}

Container = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One burst; the memory of the agent in MiB."""

    what: str
    pods: int
    before_mib: float
    most_mib: float
    gone_mib: float
    rested_mib: float

    @property
    def is_back(self) -> bool:
        return self.rested_mib - self.before_mib <= BACK_WITHIN_MIB

    def line(self) -> str:
        return (
            f"{self.pods:4d} {self.what:28s}{self.before_mib:10.1f}{self.most_mib:10.1f}{self.gone_mib:10.1f}"
            f"{self.rested_mib:12.1f}{self.rested_mib - self.before_mib:+8.1f}"
        )


HEAD = f"{'burst':33s}{'before':>10s}{'most':>10s}{'gone':>10s}{'rested':>12s}{'MiB':>8s}"


def ordinary(_: str) -> Container:
    return SLEEPS


def with_image(text: str) -> Container:
    return {**SLEEPS, "image": f"registry.example.com/{text}"}


def with_header(text: str) -> Container:
    probe = {"httpGet": {"port": 80, "path": "/", "httpHeaders": [{"name": "X-Large", "value": text}]}}
    return {**SLEEPS, "livenessProbe": {**probe, "periodSeconds": 1}}


def with_variables(text: str) -> Container:
    pieces = [text[at : at + 1000] for at in range(0, len(text), 1000)]
    return {**SLEEPS, "env": [{"name": f"A{number}", "value": each} for number, each in enumerate(pieces)]}


KINDS = {"image names": with_image, "probe headers": with_header, "variables": with_variables}


class Bursts:
    """Makes bursts of pods on one node, each pod under a name and with texts of its own."""

    def __init__(self, node: LiveNode, stay_s: float, rest_s: float) -> None:
        self._node = node
        self._stay_s = stay_s
        self._rest_s = rest_s
        self._made = 0

    def burst(self, what: str, make: Any, pods: int, text_bytes: int = 0) -> Row:
        before_mib = most_mib = self._mib()
        names = [f"p{number}" for number in range(self._made, self._made + pods)]
        self._made += pods
        for name in names:
            self._create(name, make(name.ljust(text_bytes, "a")))
            most_mib = max(most_mib, self._mib())
        until = monotonic() + self._stay_s
        while monotonic() < until:
            sleep(0.1)
            most_mib = max(most_mib, self._mib())
        self._delete(names)
        until = monotonic() + GONE_LIMIT_S
        while not self._node.seen.pods().isdisjoint(names):
            if monotonic() > until:
                raise SystemExit(f"{what}: some pods are not gone after {GONE_LIMIT_S:g} s")
            sleep(0.1)
            most_mib = max(most_mib, self._mib())
        gone_mib = self._mib()
        sleep(self._rest_s)
        return Row(what, pods, before_mib, most_mib, gone_mib, self._mib())

    def _create(self, name: str, container: Container) -> None:
        document = {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeName": self._node.name, "containers": [container]},
        }
        self._node.api.call(create(PODS, "default", from_builtins(document, Pod))).result(LIMIT_S)

    def _delete(self, names: Sequence[str]) -> None:
        answers = [self._node.api.call(delete(PODS, "default", name, grace_seconds=1)) for name in names]
        for each in answers:
            each.result(LIMIT_S)

    def _mib(self) -> float:
        return self._node.memory_bytes() / MIB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=300, help="ordinary ones; 0: none")
    parser.add_argument("--large", type=int, default=50, help="pods of each kind of large text; 0: none")
    parser.add_argument("--scale", type=float, default=1.0, help="how large the texts are, of 1 MB")
    parser.add_argument("--stay", type=float, default=20.0, metavar="SECONDS", help="before the pods are deleted")
    parser.add_argument("--rest", type=float, default=60.0, metavar="SECONDS", help="before the memory is looked at")
    options = parser.parse_args()
    text_bytes = int(LARGE_BYTES * options.scale)
    rows = []
    with live_node(maxPods=max(options.pods, options.large) + 10) as node:
        bursts = Bursts(node, options.stay, options.rest)
        bursts.burst("to begin with", ordinary, WARM_PODS)
        print(HEAD)
        for what, make, pods in [
            ("ordinary pods", ordinary, options.pods),
            ("ordinary pods, again", ordinary, options.pods),
            *((f"with 1 MB of {what}", make, options.large) for what, make in KINDS.items()),
        ]:
            if not pods:
                continue
            rows.append(bursts.burst(what, make, pods, text_bytes))
            print(rows[-1].line(), flush=True)
    sys.exit(0 if all(each.is_back for each in rows) else 1)


if __name__ == "__main__":
    main()
