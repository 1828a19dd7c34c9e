"""`actorlet simulate --kubeconfig F --nodes N`: simulated nodes that join a real API server.

They run in real time.

They run until SIGINT or SIGTERM, or for the time of `--for`, and stop in order. Their status goes to standard error. On
a terminal it is one line that is redrawn. Elsewhere it is a line of the log at each change, and once a minute. Exit
status: 0; 1 when something did not stop in order; 2 when the command line or a file is wrong, with the place.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import msgspec
from rich.console import Console
from rich.live import Live

from actors.kernel import PoolDispatcher
from actors.node_object.settings import KUBERNETES_VERSION
from cli.argument_kinds import duration, number_from
from cli.blocked_signals import blocking
from cli.command_parser import CommandParser
from cli.printing import complain
from cli.run.log_lines import log_to
from cli.simulate.hollow_shares import Share, Shares, shares_of
from cli.simulate.side_process import NoProcessError
from cli.styling import console, shown
from cli.version import VERSION
from config.credentials.kubeconfig import ApiAccess
from config.documents.codec import DocumentError
from config.flags.command_line import parse_flags
from config.start_configuration import ConfigurationRejected, StartConfiguration
from config.values.name_rules import dns_subdomain
from runtime.api.access import read_access
from runtime.host.own_process import allow_open_files
from runtime.io.event_loop import LoopThread
from runtime.io.rings import few_collections
from runtime.state.config_files import configuration_of
from simulation.cri.behaviour_values import duration_ns
from simulation.node.hollow_nodes import FILES_PER_NODE, REMOVAL_SECONDS, HollowNodes, HollowPlan, HollowStatus

LOG = logging.getLogger("actorlet.hollow")

SECOND_NS = 10**9
NODES_AT_MOST = 5_000
PROCESSES_AT_MOST = 64
WORKERS = 2
"""The work is Python code: more threads would only wait for the interpreter lock."""
LOOK_EVERY_SECONDS = 1.0
TOLD_EVERY_SECONDS = 60.0
TOLD_AGAIN_SECONDS = 5.0
"""Seconds between two lines of the log about changes."""
ENDS_WITHIN_SECONDS = 30.0
"""For the nodes of another process to end, besides the removal of their objects."""
OWN_FILES = 200
CLUSTER: dict[str, Any] = {"cluster_dns": ("10.96.0.10",), "cluster_domain": "cluster.local"}
"""Settings of the cluster where `--config` has none.

Without them every pod gets an event about the missing DNS server.
"""
RINGS_AFTER_OBJECTS = 200_000
"""How many new objects start a pass of the garbage collector.

A failed call leaves its traceback in reference cycles: 20 nodes without their API server leave 4,000 objects a second.
The limit of plain simulations would take more memory than the process may have (deploy/hollow-nodes.yaml).
"""
SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM})


class _RefusedError(Exception):
    """The command cannot begin. The text says why."""


@blocking(SIGNALS)
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = _parser().parse_args(argv)
    try:
        plan, access = _plan(options), _access(options.kubeconfig)
        lasts_s = None if options.lasts is None else duration_ns(options.lasts) / SECOND_NS
        return _run(plan, access, options, lasts_s)
    except _RefusedError as refusal:
        complain(f"actorlet simulate: {refusal}")
        return 2


def _run(plan: HollowPlan, access: ApiAccess, options: argparse.Namespace, lasts_s: float | None) -> int:
    shares = shares_of(plan, options.processes)
    complaint = allow_open_files(OWN_FILES + FILES_PER_NODE * max(each.count for each in shares))
    if complaint:
        raise _RefusedError(
            f"--nodes {plan.count}: each has some sockets open, and so many files are not allowed: {complaint}"
        )
    terminal = console(stderr=True)
    with ExitStack() as after:
        if len(shares) > 1:
            run = partial(_begun_in_process, access, options.verbose)
            spread = Shares()
            after.callback(spread.close)
            for each in shares:
                try:
                    spread.add(Share(each, run, remove=options.remove_nodes))
                except NoProcessError as error:
                    raise _RefusedError(f"--processes {options.processes}: {error}") from None
            show = after.enter_context(_display(terminal, access, options.verbose))
            troubles = _watch(spread.status, show, terminal, lasts_s, spread.newly_over)
            show(spread.status(), "ending")
            troubles += spread.stop(REMOVAL_SECONDS + ENDS_WITHIN_SECONDS)
        else:
            nodes = _begun(access, plan, after)
            show = after.enter_context(_display(terminal, access, options.verbose))
            troubles = _watch(nodes.status, show, terminal, lasts_s)
            show(nodes.status(), "ending")
            troubles += nodes.stop(remove=options.remove_nodes)
    complain(*(f"actorlet simulate: {trouble}" for trouble in troubles))
    return 1 if troubles else 0


def _begun(access: ApiAccess, plan: HollowPlan, after: ExitStack) -> HollowNodes:
    """The nodes, which have begun in this process."""
    after.enter_context(few_collections(RINGS_AFTER_OBJECTS))
    dispatcher = PoolDispatcher(WORKERS)
    after.callback(dispatcher.close)
    loop = after.enter_context(closing(LoopThread("hollow-nodes")))
    user_agent = f"actorlet/{VERSION} (hollow) kubernetes/{KUBERNETES_VERSION}"
    nodes = HollowNodes(plan, dispatcher, loop, access, user_agent)
    nodes.start()
    return nodes


def _begun_in_process(access: ApiAccess, verbose: bool, plan: HollowPlan, after: ExitStack) -> HollowNodes:
    after.enter_context(_agents_logged(verbose))
    return _begun(access, plan, after)


def _watch(
    status: Callable[[], HollowStatus],
    show: Callable[[HollowStatus, str], None],
    terminal: Console,
    lasts_s: float | None,
    newly_over: Callable[[], list[str]] = list,
) -> list[str]:
    """Wait for a signal or the end of the time. Returns the troubles of processes that are over before."""
    troubles: list[str] = []
    began_s = terminal.get_time()
    while True:
        left_s = LOOK_EVERY_SECONDS
        if lasts_s is not None:
            left_s = min(left_s, began_s + lasts_s - terminal.get_time())
            if left_s <= 0:
                return troubles
        if signal.sigtimedwait(SIGNALS, left_s) is not None:
            return troubles
        for trouble in newly_over():
            LOG.error("%s", trouble)
            troubles.append(trouble)
        show(status(), "")


# --- output -----------------------------------------------------------------------------------------------------------


def status_line(status: HollowStatus, server: str, doing: str = "") -> str:
    """The status of all nodes in one line."""
    parts = [
        f"{status.live} of {status.nodes} nodes live at {server}",
        f"{status.pods} pods",
        f"{status.containers} containers run",
        f"{status.calls} calls",
    ]
    if status.failures:
        parts.append(f"{status.failures} failed, the last: {status.last_failure}")
    return ", ".join([*parts, doing] if doing else parts)


Show = Callable[[HollowStatus, str], None]


@contextlib.contextmanager
def _display(terminal: Console, access: ApiAccess, verbose: bool) -> Iterator[Show]:
    """Make the display of the status, and the log of the agents: warnings only, or everything."""
    server = access.cluster.shown
    with ExitStack() as after:
        if terminal.is_terminal:
            live = after.enter_context(Live(console=terminal, auto_refresh=False, transient=True))
            show = _on_terminal(live, server)
        else:
            show = _LogLines(server, terminal.get_time).show
        after.enter_context(_agents_logged(verbose))  # after Live, which keeps its line below others
        yield show


@contextlib.contextmanager
def _agents_logged(verbose: bool) -> Iterator[None]:
    """Log what agents say. Their usual warnings also appear as events."""
    handler = log_to(sys.stderr, lowest=logging.INFO if verbose else logging.ERROR)
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def _on_terminal(live: Live, server: str) -> Show:
    def show(status: HollowStatus, doing: str) -> None:
        live.update(shown(status_line(status, server, doing), overflow="ellipsis", no_wrap=True), refresh=True)

    return show


class _LogLines:
    """Logs the status when it changes, but not too often, and once a minute in any case."""

    def __init__(self, server: str, now_s: Callable[[], float]) -> None:
        self._server = server
        self._now_s = now_s
        self._told: tuple[object, ...] = ()
        self._told_s = now_s()

    def show(self, status: HollowStatus, doing: str) -> None:
        what, since_s = (status.live, status.pods, status.containers, doing), self._now_s() - self._told_s
        changed = what != self._told and (since_s >= TOLD_AGAIN_SECONDS or bool(doing))
        if changed or since_s >= TOLD_EVERY_SECONDS:
            self._told, self._told_s = what, self._now_s()
            LOG.info("%s", status_line(status, self._server, doing))


# --- the command line -------------------------------------------------------------------------------------------------


def _plan(options: argparse.Namespace) -> HollowPlan:
    """The plan of the nodes from the options. Raises _RefusedError."""
    try:
        words = [f"--config={options.config}"] if options.config else []
        start: StartConfiguration = configuration_of(parse_flags(words))
    except ConfigurationRejected as rejected:
        raise _RefusedError("; ".join(str(fault) for fault in rejected.faults)) from None
    configuration = start.configuration
    if not configuration.cluster_dns:
        configuration = msgspec.structs.replace(configuration, **CLUSTER)
    plan = HollowPlan(options.nodes, configuration, options.name_prefix, options.first)
    refusal = dns_subdomain(plan.name(plan.numbers()[-1]))
    if refusal is not None:
        raise _RefusedError(f"--name-prefix {options.name_prefix}: {refusal[0]}: {refusal[1]}")
    return plan


def _access(kubeconfig: str) -> ApiAccess:
    """Read the kubeconfig. Raises _RefusedError."""
    try:
        return read_access(kubeconfig)
    except DocumentError as error:
        # Faults of the flag or the file's path name their place. A fault in the document knows only its place in it.
        place = f"{kubeconfig}: " if error.path.startswith("$") else ""
        raise _RefusedError(f"{place}{error}") from None


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet simulate --kubeconfig",
        description="Let simulated nodes join an API server, in real time. See docs/how-to/hollow-nodes.md.",
    )
    parser.add_argument("--kubeconfig", required=True, metavar="FILE", help="the API server, and who they are there")
    parser.add_argument(
        "--nodes", type=number_from(1, NODES_AT_MOST), default=1, metavar="N", help="how many (default: 1)"
    )
    parser.add_argument(
        "--processes",
        type=number_from(1, PROCESSES_AT_MOST),
        default=1,
        metavar="N",
        help="spread the nodes over so many processes, each with a core of its own (default: 1)",
    )
    parser.add_argument("--name-prefix", default="hollow-", metavar="TEXT", help="of their names (default: hollow-)")
    parser.add_argument("--first", type=number_from(0, 10**6), default=0, metavar="N", help="number of the first (0)")
    parser.add_argument("--config", metavar="FILE", help="a KubeletConfiguration for all of them")
    parser.add_argument("--for", dest="lasts", type=duration, metavar="1h", help="end after that time")
    parser.add_argument("--remove-nodes", action="store_true", help="delete the Node objects at the end")
    parser.add_argument("--verbose", action="store_true", help="log what every agent has to say")
    return parser
