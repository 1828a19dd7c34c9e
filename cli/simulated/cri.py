"""`actorlet simulated-cri`: the simulated container runtime at a socket, for any CRI client.

Serves until SIGINT or SIGTERM. A fault of the command line or the socket is one line on standard error: status 2 for
the former, 1 for the latter.
"""

from __future__ import annotations

import argparse
import dataclasses
import ipaddress
import os
import signal
from collections.abc import Sequence
from typing import Any

from actors.kernel import PoolDispatcher
from cli.argument_kinds import read_by
from cli.blocked_signals import blocking
from cli.command_parser import CommandParser
from cli.printing import complain, say
from config.values.nearest import did_you_mean
from runtime.cri.endpoint import EndpointError, parse_endpoint
from runtime.cri.server import CriServer, ServeError
from runtime.cri.verbs import ALL_VERBS
from simulation.chance.call_faults import CallFaults, FaultPlan, Faults
from simulation.cri import Settings, SimulatedCri
from simulation.cri.behaviour_values import rate_bytes_per_s, size_bytes
from simulation.cri.files import DirectoryFiles
from simulation.cri.image_names import full_name
from simulation.cri.state import CriRefusal

SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM})
_DEFAULTS = Settings()
_KINDS = ("fail", "lose", "hang", "slow", "late")


@blocking(SIGNALS)
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(argv)
    dispatcher = PoolDispatcher(1)
    try:
        with CriServer(_runtime(dispatcher, options), options.socket):
            say(f"simulated container runtime at {parse_endpoint(options.socket)}")
            signal.sigwait(SIGNALS)
    except ServeError as error:
        complain(f"actorlet simulated-cri: {error}")
        return 1
    finally:
        dispatcher.close()
    return 0


def _runtime(dispatcher: PoolDispatcher, options: argparse.Namespace) -> SimulatedCri:
    settings = Settings(
        seed=options.seed,
        images=tuple(options.image),
        registry=frozenset(options.registry) if options.registry else None,
        image_size_bytes=options.image_size,
        pull_rate_bytes_per_s=options.pull_rate,
        pod_cidr=options.pod_cidr,
    )
    calls: dict[str, CallFaults] = {}
    for verb, chances in options.fault:
        calls[verb] = dataclasses.replace(calls.get(verb, CallFaults()), **chances)
    faults = Faults(FaultPlan(calls), options.seed) if calls else None
    return SimulatedCri(dispatcher, settings, files=None if options.no_logs else DirectoryFiles(), faults=faults)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet simulated-cri",
        description="Serve the simulated container runtime. Pods say by annotations what their containers do; see "
        "docs/reference/simulated-runtime.md.",
    )
    parser.add_argument(
        "--socket", required=True, type=read_by(_endpoint, EndpointError), metavar="PATH", help="path, or unix:// URL"
    )
    image = read_by(full_name, CriRefusal)
    parser.add_argument("--seed", type=int, default=0, help="decides ids and faults (default: 0)")
    parser.add_argument("--image", action="append", default=[], type=image, metavar="NAME", help="is there at once")
    parser.add_argument(
        "--registry",
        action="append",
        default=[],
        type=image,
        metavar="NAME",
        help="can be pulled; without this option, every image can",
    )
    parser.add_argument("--image-size", type=read_by(size_bytes), default=_DEFAULTS.image_size_bytes, metavar="SIZE")
    parser.add_argument(
        "--pull-rate",
        type=read_by(rate_bytes_per_s),
        default=_DEFAULTS.pull_rate_bytes_per_s,
        metavar="SIZE",
        help="per second",
    )
    parser.add_argument("--pod-cidr", type=_network, default=_DEFAULTS.pod_cidr, metavar="NETWORK")
    parser.add_argument("--no-logs", action="store_true", help="write no log files")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        type=_fault,
        metavar="VERB:KIND=SHARE[,...]",
        help=f"a share (0 to 1) of the calls of a verb, or of all (*), meets a fault: {', '.join(_KINDS)}",
    )
    return parser


def _endpoint(text: str) -> str:
    return str(parse_endpoint(text if "://" in text else os.path.abspath(text)))


def _network(text: str) -> str:
    try:
        return str(ipaddress.IPv4Network(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not an IPv4 network: {error}") from None


def _fault(text: str) -> tuple[str, dict[str, float]]:
    """Parse an option such as `StartContainer:fail=0.1,late=0.5`."""
    verb, colon, rest = text.partition(":")
    names = {known.name for known in ALL_VERBS}
    if not colon or (verb != "*" and verb not in names):
        hint = did_you_mean(verb, names, "write it as StartContainer:fail=0.1 or *:late=0.5")
        raise argparse.ArgumentTypeError(f"{text!r} names no verb; {hint}")
    chances: dict[str, float] = {}
    for part in rest.split(","):
        kind, _, share = part.partition("=")
        if kind not in _KINDS:
            hint = did_you_mean(kind, _KINDS, f"there are {', '.join(_KINDS)}, as in fail=0.1")
            raise argparse.ArgumentTypeError(f"{part!r} is not a fault; {hint}")
        try:
            chances[kind] = float(share)
            one: dict[str, Any] = {kind: chances[kind]}
            CallFaults(**one)  # checks the share
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{part!r}: {error}") from None
    return verb, chances
