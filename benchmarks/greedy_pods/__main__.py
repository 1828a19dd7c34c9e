"""What small pods wait for beside a pod that is as large as the API takes, on a live agent.

    python -m benchmarks.greedy_pods [--containerd] [--kubeconfig FILE] [--others 10] [--rows TEXT ...] [--scale 1.0]
                                     [--rest 60] [--kubelet FILE]

The agent, the API server and the runtime are processes of their own. The runtime is the simulated one behind a socket,
or with `--containerd` a private containerd, which needs root. `--kubeconfig` names an API server that runs, with an
admin's access; the embedded one has one thread, and a large pod takes it for itself while it is written. For each row
the node first starts and ends `--others` small pods, each with a ConfigMap, a directory and a token, 0.3 s apart. Then
the greedy pod comes, is updated, and is deleted, and in each of these stages as many small pods come and go. So both
columns are from one run and one node.

Prints the table, and the memory of the agent before all of it and `--rest` seconds after the last greedy pod. `--rows`
chooses those whose names have one of the texts; `--scale` makes the greedy pods smaller. Exit status 1: it does not
hold. Volumes of a dead server need root and /dev/fuse; without them that row is left out.

`--kubelet` plays the same for a kubelet afterwards, on a node of its own. It needs `--kubeconfig`. What both lose is
lost to the API server and the runtime, which share the cores with them. The exit status is that of ours.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from benchmarks.bursts.__main__ import CONTAINERD, KUBELET, SIMULATED, Runtime
from benchmarks.greedy_pods.report import AT_MOST, HEAD, MEMORY_MIB_AT_MOST, STAGES, Compared, Waits, line, memory_words
from benchmarks.greedy_pods.rows import SETTINGS, Json, Row, rows, small
from benchmarks.live_node import LIMIT_S, MIB, NODE, OWN, LiveNode, live_node
from config.api.resources import CONFIG_MAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from config.documents.codec import from_builtins
from config.objects import ConfigMap, Namespace, ObjectMeta, Pod, ServiceAccount
from runtime.api import ApiError, create, delete
from runtime.api.calls import patch
from tests.real.dead_mount import DeadMount

APART_S = 0.3
GONE_LIMIT_S = 600.0
FUSE = "/dev/fuse"


class Bench:
    """Makes small pods and greedy ones on a node, and takes the time of the small ones."""

    def __init__(self, node: LiveNode, runtime: Runtime, others: int) -> None:
        self._node = node
        self._image = runtime.image
        self._others = others
        self._made = 0
        self._namespace = f"bench-{os.getpid()}-{node.name}"
        node.api.call(create(NAMESPACES, "", Namespace(metadata=ObjectMeta(name=self._namespace)))).result(LIMIT_S)
        self._make_account()
        self._make_config_map(SETTINGS, {"mode": "plain"})

    def close(self) -> None:
        """Delete the namespace; a server that runs on would keep it."""
        self._node.api.call(delete(NAMESPACES, "", self._namespace)).result(LIMIT_S)

    def _make_account(self) -> None:
        """The account that a controller manager makes, unless it did so."""
        account = ServiceAccount(metadata=ObjectMeta(name="default", namespace=self._namespace))
        refused = self._node.api.call(create(SERVICE_ACCOUNTS, self._namespace, account)).exception(LIMIT_S)
        if isinstance(refused, ApiError) and refused.reason != "AlreadyExists":
            raise refused

    def _make_config_map(self, name: str, data: Json) -> None:
        value = ConfigMap(metadata=ObjectMeta(name=name, namespace=self._namespace), data=data)
        self._node.api.call(create(CONFIG_MAPS, self._namespace, value)).result(LIMIT_S)

    def _make_pod(self, document: Json) -> None:
        document = {**document, "metadata": {**document["metadata"], "namespace": self._namespace}}
        self._node.api.call(create(PODS, self._namespace, from_builtins(document, Pod))).result(LIMIT_S)

    def waits(self) -> Waits:
        """How long small pods take to start, then to end."""
        seen, api = self._node.seen, self._node.api
        names = [f"small-{number}" for number in range(self._made, self._made + self._others)]
        self._made += self._others
        created: dict[str, float] = {}
        for name in names:
            created[name] = monotonic()
            self._make_pod(small(name, self._node.name, self._image))
            sleep(APART_S)
        seen.all_ready(set(names), LIMIT_S)
        ready = {name: seen.ready_at({name}) for name in names}
        starts = tuple(ready[name][0] - created[name] if ready[name] else None for name in names)
        ends: list[float | None] = []
        for name in names:
            began = monotonic()
            # With a grace of 0 the API would not wait for the agent.
            api.call(delete(PODS, self._namespace, name, grace_seconds=1)).result(LIMIT_S)
            ends.append(monotonic() - began if _gone(self._node, name, LIMIT_S) else None)
        return Waits(starts, tuple(ends))

    def compared(self, row: Row, dead: str) -> Iterator[Compared]:
        """The stages of one greedy pod."""
        without = self.waits()
        for name, data in row.objects.items():
            self._make_config_map(name, dict(data))
        api = self._node.api
        document = row.document(self._node.name, self._image, dead)
        change = {"metadata": {"labels": {"updated": "yes"}}}
        acts: tuple[Callable[[], object], ...] = (
            lambda: self._make_pod(document),
            lambda: api.call(patch(PODS, self._namespace, "greedy", change)).result(LIMIT_S),
            lambda: api.call(delete(PODS, self._namespace, "greedy", grace_seconds=1)).result(LIMIT_S),
        )
        for stage, act in zip(STAGES, acts, strict=True):
            act()
            yield Compared(row.name, stage, without, self.waits())
        if not _gone(self._node, "greedy", GONE_LIMIT_S):
            raise SystemExit(f"{row.name}: the pod is not gone after {GONE_LIMIT_S:g} s")
        for name in row.objects:
            api.call(delete(CONFIG_MAPS, self._namespace, name)).result(LIMIT_S)


def _gone(node: LiveNode, name: str, limit_s: float) -> bool:
    """Wait until the API has the pod no more; False when it is still there after the limit."""
    last = monotonic() + limit_s
    while name in node.seen.pods():
        if monotonic() > last:
            return False
        sleep(0.01)
    return True


@contextmanager
def dead_mount(place: str) -> Iterator[str]:
    """A mount whose server does not answer."""
    mount = DeadMount(Path(place) / "dead")
    try:
        yield str(mount.path)
    finally:
        mount.take_down()


def can_mount_dead() -> bool:
    return os.geteuid() == 0 and os.path.exists(FUSE)


def played(
    who: str, command: Sequence[str], chosen: Sequence[Row], runtime: Runtime, options: argparse.Namespace
) -> bool:
    """Play the rows on a node of this agent, and print its table. True when all of it holds."""
    found: list[Compared] = []
    fields = {} if command is OWN else KUBELET
    with ExitStack() as after:
        opened = live_node(
            runtime.serve, name=f"{NODE}-{who}", command=command, kubeconfig=options.kubeconfig, **fields
        )
        node = after.enter_context(opened)
        bench = after.enter_context(closing(Bench(node, runtime, options.others)))
        bench.waits()  # an agent that has just begun has never run its code
        before_mib = node.memory_bytes() / MIB
        print(f"## {who}\n\n{HEAD}", flush=True)
        for row in chosen:
            if row.needs_dead_mount and not can_mount_dead():
                print(f"left out, since it needs root and {FUSE}: {row.name}", file=sys.stderr)
                continue
            with ExitStack() as of_row:
                dead = of_row.enter_context(dead_mount(node.place)) if row.needs_dead_mount else ""
                for each in bench.compared(row, dead):
                    print(line(each), flush=True)
                    found.append(each)
        sleep(options.rest)
        after_mib = node.memory_bytes() / MIB
    print(memory_words(before_mib, after_mib))
    holds = all(each.holds for each in found) and after_mib - before_mib <= MEMORY_MIB_AT_MOST
    print(f"{'All' if holds else 'Not all'} of it holds: others wait at most {AT_MOST:g} times as long.\n", flush=True)
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--containerd", action="store_true", help="on a private containerd; needs root")
    parser.add_argument("--kubeconfig", metavar="FILE", help="of an API server that runs, in place of the embedded one")
    parser.add_argument("--others", type=int, default=10, help="small pods in each stage")
    parser.add_argument("--rows", nargs="+", default=[""], metavar="TEXT", help="only rows with one of these texts")
    parser.add_argument("--scale", type=float, default=1.0, help="how large the greedy pods are, of their whole size")
    parser.add_argument("--kubelet", metavar="FILE", help="a kubelet to play it with as well; needs --kubeconfig")
    parser.add_argument("--rest", type=float, default=60.0, metavar="SECONDS", help="before the memory is looked at")
    options = parser.parse_args()
    if options.containerd and os.geteuid() != 0:
        sys.exit("--containerd: containerd needs root; run this as root, or without --containerd")
    if options.kubelet and not options.kubeconfig:
        parser.error("--kubelet: a kubelet needs a real API server; name its admin's file with --kubeconfig")
    runtime = CONTAINERD if options.containerd else SIMULATED
    chosen = [each for each in rows(options.scale) if any(text in each.name for text in options.rows)]
    if not chosen:
        parser.error(f"--rows: no row has such a text; there are {', '.join(each.name for each in rows())}")
    with TemporaryDirectory(prefix="actorlet-bench-") as certificates:
        holds = played("actorlet", OWN, chosen, runtime, options)
        if options.kubelet:
            played("kubelet", (options.kubelet, f"--cert-dir={certificates}"), chosen, runtime, options)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
