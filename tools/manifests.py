"""`python -m tools.manifests FOLDER MANIFESTS`: what applied manifests become here and elsewhere.

It applies them to a real API server and to the embedded one. FOLDER holds `etcd` and `kube-apiserver`. MANIFESTS is a
folder of `.yaml` files. Each is applied twice in both ways of kubectl, client-side and server-side, on new servers each
time. Printed is where the embedded server differs: in what kubectl says, in what the second apply changes, and in what
is then read back. Uids, times and what is drawn are set aside, as in `tools.recordings`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from cli.simulated.embedded_api import ApiServerOptions, embedded_api
from runtime.io.event_loop import LoopThread, leave_to_others
from simulation.cluster.running_cluster import wall_ns
from simulation.planes.binaries import Binaries, find_binaries
from simulation.planes.control_plane import ADMIN, ControlPlane
from tools.recordings.compare import differences
from tools.recordings.player import Answer, comparable, settled

WAYS = {"client-side": (), "server-side": ("--server-side",)}
"""Way of apply -> arguments of `kubectl apply`."""
LIMIT_S = 300
"""For one command of kubectl."""
READS_AT_MOST = 30
SETTLES_S = 1.0
"""Between two reads that have to be equal. Controllers of the API server write conditions late."""

Json: TypeAlias = Any
Objects: TypeAlias = dict[str, Json]
"""`kind.group namespace/name` -> object."""


class Said(msgspec.Struct, frozen=True):
    """What a command has said."""

    code: int
    out: str
    err: str


class Outcome(msgspec.Struct, frozen=True):
    """What became of a manifest on one server: of the first apply and of the second."""

    said: tuple[Said, Said]
    objects: tuple[Objects, Objects]

    def changed(self) -> dict[str, str]:
        """Object -> what the second apply did to its generation and version."""
        first, second = self.objects
        return {name: _step(first[name], second[name]) for name in first if name in second}


class Server(msgspec.Struct, frozen=True):
    """How kubectl reaches a server. `home` is for what kubectl remembers of it."""

    kubeconfig: str
    home: str
    wait: Callable[[], object]
    """Waits for SETTLES_S."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.manifests", description="compare what applied manifests become"
    )
    parser.add_argument("folder", help="with `etcd` and `kube-apiserver`")
    parser.add_argument("manifests", type=Path, help="with .yaml files")
    parser.add_argument("--kubectl", default="kubectl", help="default: the one in PATH")
    parser.add_argument("--only", default="", help="only files whose name has this in it")
    parser.add_argument("--way", choices=sorted(WAYS), help="default: both")
    options = parser.parse_args()
    paths = sorted(path for path in options.manifests.glob("*.yaml") if options.only in path.name)
    if not paths:
        parser.error(f"{options.manifests} has no .yaml file with {options.only!r} in its name; put manifests there")
    programs = find_binaries(options.folder)._replace(controller_manager="", scheduler="")
    found = 0
    for path in paths:
        for way in [options.way] if options.way else WAYS:
            outcomes = []
            for started in (partial(_real, programs), _embedded):
                with tempfile.TemporaryDirectory(prefix="manifests-") as directory, started(directory) as server:
                    outcomes.append(_outcome(partial(_kubectl, options.kubectl, server), path, WAYS[way], server))
            lines = list(report(*outcomes))
            found += len(lines)
            codes = " and ".join(str(said.code) for said in outcomes[0].said)
            objects = len(outcomes[0].objects[1])
            print(f"{path.name} {way}: exit status {codes}, {objects} objects, {len(lines)} differences", flush=True)
            for line in lines:
                print(f"    {line}", flush=True)
    print(f"{found} differences in {len(paths)} manifests")
    return 0


def report(real: Outcome, ours: Outcome) -> Iterator[str]:
    """The differences of two outcomes, a line each."""
    for number, (one, other) in enumerate(zip(real.said, ours.said, strict=True), 1):
        if one.code != other.code:
            yield f"apply {number}: exit status {one.code} is {other.code}"
        for stream, lines, own in (("", one.out, other.out), ("error: ", one.err, other.err)):
            expected, got = lines.splitlines(), own.splitlines()
            yield from (f"apply {number}: missing: {stream}{line}" for line in expected if line not in got)
            yield from (f"apply {number}: too much: {stream}{line}" for line in got if line not in expected)
    yield from (f"apply 2: {line}" for line in _of_objects(real.changed(), ours.changed()))
    said: frozenset[str] = frozenset()
    for number, (known, mine) in enumerate(zip(real.objects, ours.objects, strict=True), 1):
        found = list(_of_objects(_plain(known), _plain(mine)))
        yield from (f"after apply {number}: {line}" for line in found if line not in said)
        said = frozenset(found)


def _of_objects(real: Objects, ours: Objects) -> Iterator[str]:
    for name in sorted({*real, *ours}):
        if name not in ours or name not in real:
            yield f"{name}: {'missing' if name in real else 'too much'}"
            continue
        for path, what in differences(real[name], ours[name]):
            yield f"{name}: {path}: {what}: {_at(real[name], path)} is {_at(ours[name], path)}"


def _at(value: Json, path: str) -> str:
    """The value at a path as `differences` writes it, as short JSON. Names with dots are found, too."""
    rest = path
    while rest:
        if isinstance(value, list):
            number, _, rest = rest.removeprefix("[").partition("]")
            value = value[int(number)]
            continue
        names = [each for each in value if rest == f".{each}" or rest.startswith((f".{each}.", f".{each}["))]
        if not names:
            return "-"
        name = max(names, key=len)
        value, rest = value[name], rest[len(name) + 1 :]
    return json.dumps(value)[:300]


def _plain(objects: Objects) -> Objects:
    """Objects without what differs from run to run; of each for itself.

    Several controllers of a kube-apiserver write the conditions of a definition, in any order.
    """
    return {name: comparable([Answer(200, settled(_in_order(each)))])[0].body for name, each in objects.items()}


def _in_order(value: Json) -> Json:
    conditions = (value.get("status") or {}).get("conditions")
    if not conditions:
        return value
    return {**value, "status": {**value["status"], "conditions": sorted(conditions, key=lambda one: str(one["type"]))}}


def _step(first: Json, second: Json) -> str:
    said = [f"generation +{_generation(second) - _generation(first)}"]
    if first["metadata"]["resourceVersion"] != second["metadata"]["resourceVersion"]:
        said.append("written")
    return ", ".join(said)


def _generation(value: Json) -> int:
    return int(value["metadata"].get("generation", 0))


def _outcome(kubectl: Callable[..., Said], path: Path, arguments: tuple[str, ...], server: Server) -> Outcome:
    said, objects = [], []
    for _ in range(2):
        said.append(kubectl("apply", *arguments, "-f", str(path)))
        objects.append(_read(kubectl, path, server.wait))
    return Outcome((said[0], said[1]), (objects[0], objects[1]))


def _read(kubectl: Callable[..., Said], path: Path, wait: Callable[[], object]) -> Objects:
    """The objects of a manifest, once nobody writes them any more."""
    before: Objects | None = None
    for _ in range(READS_AT_MOST):
        said = kubectl("get", "--ignore-not-found", "--show-managed-fields", "-o", "json", "-f", str(path))
        read = json.loads(said.out or '{"items": []}')
        now = {_name(each): each for each in (read["items"] if read.get("kind", "List") == "List" else [read])}
        if now == before:
            return now
        before = now
        wait()
    raise RuntimeError(f"the objects of {path} still change after {READS_AT_MOST * SETTLES_S:.0f} s; look who writes")


def _name(value: Json) -> str:
    group = value["apiVersion"].rpartition("/")[0]
    place = value["metadata"].get("namespace", "")
    return f"{value['kind']}.{group} {place}/{value['metadata']['name']}"


def _kubectl(program: str, server: Server, *arguments: str) -> Said:
    done = subprocess.run(
        [program, "--kubeconfig", server.kubeconfig, *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env={"HOME": server.home, "PATH": "/usr/local/bin:/usr/bin:/bin"},
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


@contextmanager
def _real(programs: Binaries, directory: str) -> Iterator[Server]:
    loop = LoopThread()
    plane = ControlPlane(programs, directory, wall_ns(), scheduler=False, accounts=True)
    try:
        loop.submit(plane.begin()).result()
        kubeconfig = str(Path(directory, "admin.kubeconfig"))
        plane.write_kubeconfig(kubeconfig, *ADMIN)
        yield Server(kubeconfig, directory, partial(_wait, loop))
    finally:
        loop.submit(plane.end()).result()
        loop.close()


@contextmanager
def _embedded(directory: str) -> Iterator[Server]:
    loop = LoopThread()
    kubeconfig = str(Path(directory, "kubeconfig"))
    try:
        with embedded_api(ApiServerOptions(str(Path(directory, "keys")), kubeconfig)):
            yield Server(kubeconfig, directory, partial(_wait, loop))
    finally:
        loop.close()


def _wait(loop: LoopThread) -> None:
    loop.submit(leave_to_others(SETTLES_S)).result()


if __name__ == "__main__":
    sys.exit(main())
