"""`actorlet up`: a node in one command, on the simulated runtime or a real one.

Without options it runs sample pods on a simulated runtime, in a live table, until Ctrl-C. It has an API server of its
own for kubectl, whose kubeconfig is printed first. Nothing of it outlives the command. On a real runtime the containers
run on when the command ends, as with any agent, and the next agent finds them. Those of pods made with kubectl end with
the next command, since the API server forgets them.

Exit status: 0; with `--once` 1 when not every pod has arrived by the deadline; 1 when it cannot start; 2 for a wrong
command line.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

import msgspec

from actors.kernel import PoolDispatcher
from actors.node.node import NodeAgent
from actors.node.plan import NodeCapabilities, NodePlan
from actors.sources.static import decoder_of, read_once
from cli.argument_kinds import existing, read_by
from cli.blocked_signals import ENDING, blocking
from cli.command_parser import CommandParser
from cli.file_errors import why
from cli.inspect.local_views import HEALTH, Others, inquiries_of, no_others, questions_of, views_of
from cli.printing import complain, say
from cli.run.log_lines import log_to
from cli.run.node_server import NodeWindow, Serving, node_server
from cli.run.node_start import open_lines, plan_of, real_capabilities, runtime_name_of, this_machine
from cli.run.recording import agent_of, pool_for, recorder_of, start_over_in_time
from cli.simulated.embedded_api import PASSING_PREFIX, ApiServerOptions, EmbeddedApi, embedded_api, new_file, port
from cli.styling import console
from cli.up.keys import CTRL_C, Keys
from cli.up.progress import ClusterProgress, ProgressSnapshot, Wanted, look_at, progress
from cli.up.screens import END_KEY, Headings, JsonScreen, LineScreen, LiveScreen, Screen
from cli.up.simulated_machine import SIMULATED_RUNTIME, simulated_capabilities
from config import examples
from config.flags.command_line import parse_flags, read_size
from config.kubelet.configuration import Authentication, Authorization, X509Authentication
from config.pods.identity import SOURCE_FILE
from config.start_configuration import ConfigurationRejected, StartConfiguration, load_kubelet_configuration
from runtime.api import ApiLines
from runtime.api.access import read_access
from runtime.cri.client import GrpcCri
from runtime.cri.endpoint import EndpointError, parse_endpoint
from runtime.files.directories import make_directories
from runtime.files.lock_file import LockFileError
from runtime.files.passing_directory import passing_directory
from runtime.http_server.auth.serving_certificate import CertificateError
from runtime.http_server.local_endpoint import LocalEndpoint, LocalEndpointError, RootDirectoryTakenError, ask
from runtime.http_server.node_server import Ports, PortTakenError
from runtime.io.event_loop import LoopThread
from runtime.manifests.local import LocalManifests
from simulation.cri import Settings

LOG = logging.getLogger("actorlet.up")

SIMULATED_NODE = "demo"
LOOK_EVERY_SECONDS = 0.25
DEADLINE_SECONDS = 60.0
ASK_SECONDS = 2.0
SECOND_NS = 1_000_000_000
STOP_TIMEOUT_NS = 15 * SECOND_NS
_MIB = 2**20
RECORD_SIZE = 256 * _MIB


@blocking()
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(argv)
    try:
        with _root_directory(options) as root:
            _refuse_if_taken(root)
            return _run(options, root)
    except (ConfigurationRejected, RootDirectoryTakenError, LockFileError, OSError) as error:
        complain(f"actorlet up: {why(error)}")
        return 1


def _run(options: argparse.Namespace, root: str) -> int:
    manifests = (
        os.path.abspath(options.manifests) if options.manifests else _put_samples(root, troubled=not options.once)
    )
    simulated = options.runtime == SIMULATED_RUNTIME
    machine = this_machine(SIMULATED_NODE if simulated else "")
    logs = os.path.join(root, "log")
    flags = [f"--pod-manifest-path={manifests}", f"--pod-logs-dir={logs}/pods", "--file-check-frequency=5s"]
    # A node to try things with leaves the tree of cgroups to others, who may have a kubelet on this machine.
    flags += ["--cgroups-per-qos=false", "--enforce-node-allocatable=none"]
    if simulated:
        flags.append(
            "--cluster-dns=10.0.0.10"
        )  # where a cluster has its own; nobody asks it here, and nobody misses it
    start = load_kubelet_configuration(parse_flags(flags))
    name = SIMULATED_RUNTIME if simulated else runtime_name_of(options.runtime)
    plan = plan_of(start, machine, root, name, f"{logs}/containers")
    title = f"actorlet: node {machine.name} on the runtime {options.runtime}, manifests in {manifests} (q ends it)"
    with ExitStack() as after:
        embedded = _api_server(options, root, after)
        kubeconfig = "" if embedded is None else embedded.kubeconfig
        dispatcher = pool_for(options.record)
        after.callback(dispatcher.close)
        loop = after.enter_context(closing(LoopThread("http")))
        api = _lines(kubeconfig, start, loop, after)
        if simulated:
            # Slow enough for a person to see a pull, quick enough not to wait for it.
            settings = Settings(image_size_bytes=20 * _MIB, pull_rate_bytes_per_s=16 * _MIB)
            capabilities = simulated_capabilities(dispatcher, plan, loop, settings, api)
        else:
            cri = after.enter_context(GrpcCri(options.runtime))
            containers = after.enter_context(closing(LoopThread("containers")))
            capabilities = real_capabilities(cri, plan, loop, containers, api)
        hint = f"`actorlet explain POD --root-dir {root}` says why a pod does not run; manifests are in {manifests}"
        window = NodeWindow()
        plan, link = _served(plan, embedded, root, window, capabilities, after)
        recorder = recorder_of(options.record, options.record_size, dispatcher, plan, after)
        window.node = node = agent_of(recorder, dispatcher, plan, capabilities)
        others = no_others if embedded is None else embedded.pods_without_node
        endpoint = LocalEndpoint(root, views_of(node, others), loop, questions_of(node, others), inquiries_of(node))
        after.callback(endpoint.close)
        wanted = _wanted(manifests, machine.name, plan.prevent_api_references)
        with _screen(options, Headings(title, kubeconfig, link, hint)) as screen, Keys() as keys:
            # Not before: they warn at once, of a runtime that is not there for one.
            _serve_locally(endpoint)
            node.start()
            after.callback(node.stop, STOP_TIMEOUT_NS)
            start_over_in_time(node, recorder, dispatcher, after)
            outcome = _watch(node, others, dispatcher, screen, keys, options, wanted)
    return _verdict(options, outcome, len(wanted.pods))


def _refuse_if_taken(root: str) -> None:
    """Asked before anything is written there: a kubeconfig of the other one is not to be lost."""
    try:
        ask(root, HEALTH, ASK_SECONDS)
    except LocalEndpointError:
        return
    raise RootDirectoryTakenError(f"another node runs on {root}; stop it first, or choose another --root-dir")


def _serve_locally(endpoint: LocalEndpoint) -> None:
    """Start the endpoint for `actorlet pods`, `explain` and `actors`.

    Raises RootDirectoryTakenError: no two nodes share a directory.
    """
    try:
        endpoint.start()
    except RootDirectoryTakenError:
        raise
    except LocalEndpointError as error:
        LOG.warning("`actorlet pods`, `explain` and `actors` will not find this node: %s", error)


def _served(
    plan: NodePlan,
    embedded: EmbeddedApi | None,
    root: str,
    window: NodeWindow,
    capabilities: NodeCapabilities,
    after: ExitStack,
) -> tuple[NodePlan, str]:
    """Start the node's own server, for the API server and the clients that it lets in.

    Returns the plan with its port, and a link to the observer.

    Without an API server nothing could authorize clients, so only the observer is served. Raises OSError.
    """
    replace = msgspec.structs.replace
    configuration = replace(plan.configuration, enable_server=embedded is not None, read_only_port=0, healthz_port=0)
    if embedded is not None:
        configuration = replace(
            configuration,
            address=plan.facts.host_ips[0] if plan.facts.host_ips else "127.0.0.1",
            authentication=Authentication(x509=X509Authentication(client_ca_file=embedded.authority)),
            authorization=Authorization(),
        )
    loop = after.enter_context(closing(LoopThread("http-server")))
    names = (plan.facts.name, *plan.facts.host_ips)
    serving = Serving(plan.facts.name, configuration, os.path.join(root, "pki"), names, {}, root=root)
    ports = Ports(main=0 if embedded is not None else None, read_only=None, health=None)
    try:
        can = capabilities
        server = node_server(serving, ports, window, can.cri, can.log_files, can.api, loop, can.meters)
        server.start()
        link = server.observe()
    except (CertificateError, PortTakenError) as error:
        raise OSError(str(error)) from None
    after.callback(server.close)
    return dataclasses.replace(plan, configuration=replace(configuration, port=server.ports.main or 0)), link


def _api_server(options: argparse.Namespace, root: str, after: ExitStack) -> EmbeddedApi | None:
    """Start the API server; None if there shall be none."""
    if options.no_apiserver:
        return None
    path = options.kubeconfig or os.path.join(root, "kubeconfig")
    keys = os.path.join(root, "apiserver")
    return after.enter_context(embedded_api(ApiServerOptions(keys, path, options.port)))


def _lines(kubeconfig: str, start: StartConfiguration, loop: LoopThread, after: ExitStack) -> ApiLines | None:
    if not kubeconfig:
        return None
    return after.enter_context(closing(open_lines(read_access(kubeconfig), loop, start.configuration)))


def _watch(
    node: NodeAgent,
    others: Others,
    dispatcher: PoolDispatcher,
    screen: Screen,
    keys: Keys,
    options: argparse.Namespace,
    wanted: Wanted,
) -> ClusterProgress:
    """Show the node until a signal or the key comes or, with `--once`, until it has come to an end."""
    deadline_ns = dispatcher.now_ns() + int(options.deadline * SECOND_NS)
    while True:
        look: ProgressSnapshot = look_at(node, dispatcher.wall_ns(), others())
        outcome = progress(look, wanted)
        screen.show(look, outcome)
        over = outcome.arrived or outcome.settled or dispatcher.now_ns() >= deadline_ns
        if options.once and over:
            return outcome
        if signal.sigtimedwait(ENDING, LOOK_EVERY_SECONDS) is not None:
            return outcome
        for key in keys.pressed():
            if key in (END_KEY, CTRL_C):
                return outcome
            screen.press(key)


def _verdict(options: argparse.Namespace, outcome: ClusterProgress, wanted: int) -> int:
    if not options.once:
        return 0
    if outcome.arrived:
        if options.output == "table":
            say("the pod has arrived" if wanted == 1 else f"all {wanted} pods have arrived")
        return 0
    complain("not every pod has arrived:", *(f"  {reason}" for reason in outcome.reasons))
    return 1


def _screen(options: argparse.Namespace, headings: Headings) -> Screen:
    if options.output == "json":
        log_to(sys.stderr, lowest=30)
        return JsonScreen(sys.stdout, options.once, headings.kubeconfig, headings.link)
    terminal = console()
    if terminal.is_terminal:
        return LiveScreen(terminal, headings)
    log_to(sys.stderr, lowest=30)
    return LineScreen(sys.stdout, headings.title, headings.kubeconfig, headings.link)


def _wanted(manifests: str, node_name: str, prevent_api_references: bool) -> Wanted:
    """The pods that the manifests describe now, read as the node reads them."""
    read = read_once(manifests, decoder_of(SOURCE_FILE, node_name, prevent_api_references), LocalManifests())
    pods = {pod.metadata.uid: f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in read.pods}
    return Wanted(pods, tuple(str(problem) for problem in read.problems if problem.fatal))


def _put_samples(root: str, *, troubled: bool) -> str:
    """A copy of the samples, for the user to edit while they run. `troubled`: with pods that fail."""
    directory = os.path.join(root, "manifests")
    make_directories(directory, 0o755)
    of = (examples.DIRECTORY, examples.TROUBLED) if troubled else (examples.DIRECTORY,)
    for sample in sorted(sample for directory_of in of for sample in directory_of.glob("*.yaml")):
        shutil.copy(sample, directory)
    return directory


@contextmanager
def _root_directory(options: argparse.Namespace) -> Iterator[str]:
    """The node's directory: a temporary one with a simulated runtime, a lasting one with a real one."""
    if options.root_dir:
        root = os.path.abspath(options.root_dir)
    elif options.runtime == SIMULATED_RUNTIME:
        with passing_directory(PASSING_PREFIX) as passing:
            yield passing
        return
    else:
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        root = os.path.join(state, "actorlet", "up")
    make_directories(root, 0o750)
    yield root


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet up",
        description="Run a node in one command and show what it does. Edit, add or remove manifests while it runs.",
    )
    parser.add_argument("--manifests", type=existing, metavar="DIR", help="static pods to run (default: a few samples)")
    parser.add_argument(
        "--runtime",
        default=SIMULATED_RUNTIME,
        type=read_by(_runtime, EndpointError),
        metavar="simulated|ENDPOINT",
        help="container runtime, such as unix:///run/containerd/containerd.sock (default: simulated)",
    )
    parser.add_argument("--once", action="store_true", help="end when every pod has arrived, or at the deadline")
    parser.add_argument(
        "--deadline", type=_seconds, default=DEADLINE_SECONDS, metavar="SECONDS", help="of --once (default: 60)"
    )
    parser.add_argument(
        "--output", choices=("table", "json"), default="table", help="json: a document a line; with --once, one in all"
    )
    parser.add_argument("--root-dir", metavar="DIR", help="where the node keeps its files")
    parser.add_argument("--no-apiserver", action="store_true", help="no API server: the pods of the manifests alone")
    parser.add_argument("--port", type=port, default=0, help="of the API server (default: any free one)")
    parser.add_argument(
        "--kubeconfig",
        type=new_file,
        metavar="FILE",
        help="where to write the kubeconfig (default: in the root directory)",
    )
    parser.add_argument("--record", default="", metavar="DIR", help="record the node, for actorlet replay DIR")
    parser.add_argument(
        "--record-size", type=read_by(read_size), default=RECORD_SIZE, metavar="SIZE", help="of that (default: 256MiB)"
    )
    return parser


def _runtime(text: str) -> str:
    return text if text == SIMULATED_RUNTIME else str(parse_endpoint(text))


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is out of range; write more than 0 and less than 1e9")
    return seconds
