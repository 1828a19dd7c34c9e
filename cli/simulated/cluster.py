"""`actorlet simulate-cluster`: a simulated cluster for tests in any language.

It serves the API server, and on a second port the orders of the test kit: time, faults, nodes, what pods do. It runs
until SIGINT or SIGTERM, and with `--until-input-ends` also until its standard input ends. It leaves no files behind. A
fault of the command line, a port or a file is reported in one line on standard error. The exit status is 2 for the
command line, 1 for the others.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

import msgspec

from cli.blocked_signals import ENDING, blocking
from cli.command_parser import CommandParser
from cli.file_errors import why
from cli.printing import complain, say, say_json
from cli.simulated.embedded_api import PASSING_PREFIX, new_file, port
from cli.version import VERSION
from runtime.files.lock_file import LockFileError
from runtime.files.passing_directory import passing_directory
from runtime.io.event_loop import LoopThread
from runtime.io.rings import leave_rings_at_exit, look_seldom_for_rings
from simulation.cluster.control_port import ControlPort
from simulation.cluster.new_cluster import RINGS_AFTER_OBJECTS, new_cluster
from simulation.cluster.orders import NODES_AT_MOST, PODS_AT_MOST, Begin, OrderError


@blocking()
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = _parser().parse_args(argv)
    begin = Begin(
        nodes=options.nodes,
        time=options.time or ("real" if options.control_plane else "stepped"),
        start=options.start,
        seed=options.seed,
        scheduler=options.scheduler,
        cpus=options.cpus,
        memory=options.memory,
        pods_per_node=options.pods_per_node,
        rbac=options.rbac,
        tls=options.tls,
        control_plane=options.control_plane or "",
        controller_manager=options.controller_manager or "",
        pause=options.pause,
        devices=options.devices,
        dra_drivers=options.dra_drivers,
    )
    logging.disable(logging.WARNING)
    look_seldom_for_rings(RINGS_AFTER_OBJECTS)
    leave_rings_at_exit()
    try:
        with ExitStack() as after:
            _serve(begin, options, after)
            signal.sigwait(ENDING)
    except OrderError as error:
        complain(f"actorlet simulate-cluster: {error}")
        return 2
    except (OSError, LockFileError) as error:
        complain(f"actorlet simulate-cluster: {why(error)}")
        return 1
    return 0


def _serve(begin: Begin, options: argparse.Namespace, after: ExitStack) -> None:
    """Start the cluster, say where it is, and leave its end to `after`."""
    directory = after.enter_context(passing_directory(PASSING_PREFIX))
    loop = after.enter_context(closing(LoopThread("cluster")))
    cluster = new_cluster(
        begin, loop, options.kubeconfig or os.path.join(directory, "kubeconfig"), directory, port=options.port
    )
    after.callback(lambda: loop.submit(cluster.end()).result())
    with _port_of("--port"):
        facts = loop.submit(cluster.begin()).result()
    if options.kubeconfig:
        after.callback(_remove, options.kubeconfig)
    control = ControlPort(cluster, VERSION)
    after.callback(lambda: loop.submit(control.end()).result())
    with _port_of("--control-port"):
        facts["control"] = loop.submit(control.serve(options.control_port)).result()
    if options.until_input_ends:
        loop.submit(_end_with_input())
    if options.json:
        say_json(msgspec.json.encode(facts))
    else:
        say(f"simulated cluster of {len(facts['nodes'])} nodes at {facts['url']}, time {begin.time}")
        say(f"orders at {facts['control']}, described in {facts['control']}/openapi.json")
        say(f"export KUBECONFIG={facts['kubeconfig']}")
        if facts["certificate_authority"]:
            say(f"curl --cacert {facts['certificate_authority']} {facts['url']}/api/v1/nodes")


@contextmanager
def _port_of(flag: str) -> Iterator[None]:
    """Errors about a port name the flag that chooses another one."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES) or error.filename is not None:
            raise
        raise OSError(f"{why(error)}; choose another {flag}") from None


async def _end_with_input() -> None:
    """Send this process SIGTERM when its standard input has ended."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(2**16):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet simulate-cluster",
        description="Serve a simulated cluster on loopback, with orders for its time, faults and nodes over HTTP; see "
        "docs/how-to/test-in-any-language.md. Who reaches its ports is admin.",
    )
    parser.add_argument("--nodes", type=_up_to(NODES_AT_MOST), default=1, metavar="N", help="default: 1")
    parser.add_argument(
        "--time",
        default="",
        metavar="SPEED",
        help="stepped: time passes by orders only (default); auto: while clients wait; real (the only one with a "
        "control plane); or x60: sixty times as fast as real time",
    )
    parser.add_argument(
        "--pause",
        default="",
        metavar="TIME",
        help="with --time auto: how long, in real time, no client asks or hears anything until time passes (default: "
        "20ms)",
    )
    parser.add_argument("--start", default="", metavar="MOMENT", help="time of day at the start: 2026-01-31T09:00:00Z")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="decides all that is random (default: 1)")
    parser.add_argument(
        "--scheduler", action=argparse.BooleanOptionalAction, default=True, help="bind pods to nodes (default)"
    )
    parser.add_argument("--cpus", type=_up_to(1024), default=4, metavar="N", help="of each node (default: 4)")
    parser.add_argument("--memory", default="16Gi", metavar="SIZE", help="of each node (default: 16Gi)")
    parser.add_argument("--pods-per-node", type=_up_to(PODS_AT_MOST), default=110, metavar="N", help="default: 110")
    parser.add_argument(
        "--devices", default="", metavar="LIST", help="of each node, by device plugins: vendor.example/gpu=8"
    )
    parser.add_argument(
        "--dra-drivers", default="", metavar="LIST", help="of each node, for claims of devices: gpu.vendor.example=4"
    )
    parser.add_argument("--rbac", action="store_true", help="enforce roles and bindings")
    parser.add_argument(
        "--tls",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="let the API server speak TLS (default); without it plain HTTP, for a proxy or a recorder of requests",
    )
    parser.add_argument(
        "--control-plane",
        type=os.path.abspath,
        metavar="FOLDER",
        help="have the etcd and kube-apiserver in it as the API server, and its kube-controller-manager and scheduler",
    )
    parser.add_argument(
        "--controller-manager",
        type=os.path.abspath,
        metavar="FILE",
        help="run this kube-controller-manager: Deployments and the like get their pods; for --time auto or real",
    )
    parser.add_argument("--port", type=port, default=0, metavar="PORT", help="of the API server (default: a free one)")
    parser.add_argument("--control-port", type=port, default=0, metavar="PORT", help="for orders (default: a free one)")
    parser.add_argument(
        "--kubeconfig", type=new_file, metavar="FILE", help="where to write the kubeconfig (default: a passing place)"
    )
    parser.add_argument("--json", action="store_true", help="print where the cluster is as one line of JSON")
    parser.add_argument(
        "--until-input-ends", action="store_true", help="also end when standard input does: with the test that holds it"
    )
    return parser


def _up_to(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:10]) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {most}")
        return int(text)

    return number
