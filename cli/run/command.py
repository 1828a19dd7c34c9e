"""`actorlet run`: the agent proper.

Takes a kubelet's flags and files: its unit file works with the name changed.

All faults of flags, files and machine are printed before anything starts. Each has a line; the exit status is 1. A
missing runtime is no such fault: the agent waits for it. SIGTERM and SIGINT end the agent with status 0 and leave the
containers running.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from actors.kernel import PoolDispatcher, Promise
from actors.model.id_ranges import IdRangeError, node_range
from actors.node.node import NodeAgent
from actors.node.plan import NodeCapabilities
from actors.node.pod_resources import NodePodResources
from cli.blocked_signals import blocking
from cli.file_errors import why
from cli.inspect.local_views import inquiries_of, questions_of, views_of
from cli.main import version_text
from cli.printing import complain, say
from cli.run.image_providers import image_providers, provider_config
from cli.run.island import island_settings
from cli.run.joining import BootstrapCredentials, JoiningEnded, certificate_keys, join_with_bootstrap
from cli.run.log_lines import log_as
from cli.run.machine_checks import Findings, look_at_machine, prepare_machine
from cli.run.node_server import NodeWindow, Serving, is_open_to_all, node_server
from cli.run.node_start import (
    NodeMachine,
    addresses_of,
    open_lines,
    open_runtime,
    plan_of,
    real_capabilities,
    runtime_name_of,
    this_machine,
)
from cli.run.recording import agent_of, pool_for, recorder_of, start_over_in_time
from cli.run.tracing import TracingError, count_spans, open_tracing
from cli.version import VERSION
from config.documents.codec import DocumentError
from config.flags.command_line import parse_flags
from config.flags.help import flags_help
from config.kubelet import KubeletConfiguration
from config.start_configuration import ConfigurationRejected, StartConfiguration
from runtime.api.access import read_access
from runtime.api.lines import HttpApiLines
from runtime.cri.endpoint import EndpointError
from runtime.files.directories import make_directories
from runtime.files.lock_file import LockFile, LockFileError
from runtime.host.kernel_parameters import LocalKernelParameters
from runtime.host.machine import cgroup_version
from runtime.host.packet_rules import LocalPacketRules
from runtime.host.service_manager import READY, STOPPING, WATCHDOG, notify, watchdog_interval_seconds
from runtime.http_server.auth.gate import gate_faults
from runtime.http_server.auth.serving_certificate import CertificateError
from runtime.http_server.local_endpoint import LocalEndpoint, LocalEndpointError, RootDirectoryTakenError
from runtime.http_server.node_server import NodeServer, PortTakenError, ports_of
from runtime.io.event_loop import LoopThread
from runtime.io.heap import HeapKeeper, collect_seldom, share_one_heap
from runtime.io.interpreter import take_short_turns
from runtime.io.parent_death import ending_with_us
from runtime.metrics.certificates import seconds_left
from runtime.metrics.kubelet_api import CLIENT_CERTIFICATE_TTL
from runtime.metrics.meters import Meters
from runtime.pod_resources.server import PodResourcesError, PodResourcesServer
from runtime.state.config_files import configuration_of
from runtime.state.id_files import IdFiles, LocalIdFiles
from runtime.traces.spans import Tracer
from runtime.volumes.mounts import KernelMounts

if TYPE_CHECKING:
    from runtime.traces.open_telemetry import OpenTelemetryTracer

LOG = logging.getLogger("actorlet.run")
SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM})
SECOND_NS = 1_000_000_000
STOP_TIMEOUT_NS = 20 * SECOND_NS
GIVE_BACK_EVERY_NS = 20 * SECOND_NS
"""How often to look whether there is memory to give back."""
LOCK_RETRY_SECONDS = 1.0


class AgentRefusedError(Exception):
    """The agent cannot start; the text has one line per fault."""


@blocking(SIGNALS)
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    flags = parse_flags(sys.argv[1:] if argv is None else argv)
    if flags.node.help:
        say("usage: actorlet run [FLAGS]", "", "The node agent. Flags and files are those of a kubelet.", "")
        say(*flags_help().splitlines())
        return 0
    if flags.node.version not in ("", "false"):
        say(version_text())
        return 0
    take_short_turns()
    share_one_heap()
    collect_seldom()
    ending_with_us()  # it tries a program, and nobody waits for that yet
    try:
        start = configuration_of(flags, cgroup_version=cgroup_version())
        return run(start)
    except (ConfigurationRejected, AgentRefusedError, LockFileError, RootDirectoryTakenError, OSError) as error:
        complain(*(f"actorlet run: {line}" for line in why(error).splitlines()))
        return 1


def run(start: StartConfiguration) -> int:
    """Start the node, wait for a signal, end it. Raises what `main` tells the user."""
    configuration = start.configuration
    machine = this_machine(start.node.hostname_override, addresses_of(start.node.node_ip))
    root = os.path.abspath(start.node.root_dir)
    kernel = LocalKernelParameters()
    found = look_at_machine(configuration, machine.facts, root, kernel)
    _refuse(start, found)
    providers, island = provider_config(start), island_settings(start)
    log_as(configuration.logging, sys.stderr, sys.stdout)
    LOG.info("actorlet %s, node %s, root directory %s", VERSION, machine.name, root)
    _tell_warnings(start)
    with ExitStack() as after:
        make_directories(root, 0o750)
        _share_mounts(root, after)
        if start.node.lock_file and not _hold(start, after):
            return 0
        prepare_machine(configuration, found, kernel)
        runtime = configuration.container_runtime_endpoint
        tracing = _open_tracing(configuration, machine.name, after)
        try:
            cri = after.enter_context(open_runtime(configuration, start.gates, tracing))
        except EndpointError as error:
            raise AgentRefusedError(f"--container-runtime-endpoint: {error}") from None
        loop = after.enter_context(closing(LoopThread("http")))
        containers = after.enter_context(closing(LoopThread("containers")))
        dispatcher = pool_for(start.node.record)
        after.callback(dispatcher.close)
        give_memory_back(dispatcher)
        plan = plan_of(start, machine, root, runtime_name_of(runtime), island=island)
        plan = replace(plan, remarks=found.remarks)
        recorder = recorder_of(start.node.record, start.node.record_size_bytes, dispatcher, plan, after)
        if not _has_joined(start, machine, loop, dispatcher.wall_ns()):
            return 0
        api = after.enter_context(closing(_join(start, loop, tracing))) if start.node.kubeconfig else None
        server_keys, client_keys = certificate_keys(start)
        capabilities = real_capabilities(cri, plan, loop, containers, api)
        capabilities = replace(
            capabilities,
            image_providers=image_providers(providers, start, loop, capabilities.meters),
            serving_keys=server_keys,
            client_keys=client_keys,
            bootstrap=_bootstrap(start, loop, after),
            packet_rules=LocalPacketRules(),
            tracer=tracing,
        )
        if tracing is not None:
            count_spans(tracing, capabilities.meters)
        if start.node.kubeconfig:
            _follow_certificate(start.node.kubeconfig, capabilities.meters)
        node = agent_of(recorder, dispatcher, plan, capabilities)
        endpoint = LocalEndpoint(root, views_of(node), loop, questions_of(node), inquiries_of(node))
        try:
            endpoint.start()
        except RootDirectoryTakenError:
            raise
        except LocalEndpointError as error:
            LOG.warning("`actorlet pods`, `explain` and `actors` will not find this agent: %s", error)
        after.callback(endpoint.close)
        _serve_pod_resources(node, after)
        # Of its own: a hundred who follow logs must not delay the lease of the node.
        serving = after.enter_context(closing(LoopThread("http-server")))
        server = _serve(start, machine, node, capabilities, serving)
        after.callback(server.close)
        node.start()
        notify(READY)
        with ExitStack() as running:
            start_over_in_time(node, recorder, dispatcher, running)
            name = _wait(node)
        LOG.info("%s: the agent ends, its containers run on", name)
        notify(STOPPING)
        if not node.stop(STOP_TIMEOUT_NS):
            LOG.warning("not every actor has ended within %d s", STOP_TIMEOUT_NS // SECOND_NS)
    return 0


def _serve_pod_resources(node: NodeAgent, after: ExitStack) -> None:
    server = PodResourcesServer(node.plan.facts.root_directory, NodePodResources(node), meters=node.meters)
    try:
        server.start()
    except PodResourcesError as error:
        LOG.warning("nobody can ask which CPUs, memory and devices pods have: %s", error)
    after.callback(server.close)


def _open_tracing(configuration: KubeletConfiguration, node: str, after: ExitStack) -> OpenTelemetryTracer | None:
    try:
        tracer = open_tracing(configuration, node)
    except TracingError as error:
        raise AgentRefusedError(str(error)) from None
    return tracer and after.enter_context(closing(tracer))


def give_memory_back(dispatcher: PoolDispatcher) -> None:
    """Look from time to time; not again before the last look has ended."""
    keeper, lane = HeapKeeper(), dispatcher.lane("heap", size=1, per_key=1)
    looks: list[Promise[bool]] = []

    def look() -> None:
        if all(each.done() for each in looks):
            looks[:] = [lane.submit("heap", keeper.look)]

    dispatcher.schedule(GIVE_BACK_EVERY_NS, look, GIVE_BACK_EVERY_NS)


def _bootstrap(start: StartConfiguration, loop: LoopThread, after: ExitStack) -> BootstrapCredentials | None:
    """The credentials with which the node replaces an expired certificate, or None.

    They exist only with `--bootstrap-kubeconfig`.
    """
    if not start.node.bootstrap_kubeconfig:
        return None
    return after.enter_context(closing(BootstrapCredentials(start, loop)))


def _follow_certificate(kubeconfig: str, meters: Meters) -> None:
    """Export the remaining lifetime of the agent's client certificate as a metric."""
    certificate = read_access(kubeconfig).user.client_certificate
    meters.follow(CLIENT_CERTIFICATE_TTL, lambda: seconds_left(certificate))


def _share_mounts(root: str, after: ExitStack) -> None:
    """Let mounts below the node's directory propagate between containers and the node (spec 16).

    An agent that leaves no pods leaves no mount either; those of other pods depend on it.
    """
    mounts = KernelMounts()

    def leave() -> None:
        pods = os.path.join(root, "pods")
        if not os.path.isdir(pods) or not os.listdir(pods):
            with suppress(OSError):
                mounts.unmount(root)

    try:
        if mounts.make_shared(root):
            after.callback(leave)
    except OSError as error:
        LOG.warning("mounts do not propagate between containers and the node: %s", why(error))


def _has_joined(start: StartConfiguration, machine: NodeMachine, loop: LoopThread, wall_ns: int) -> bool:
    """Join with `--bootstrap-kubeconfig`, if needed.

    False if a signal came first.
    """
    if not (start.node.kubeconfig and start.node.bootstrap_kubeconfig):
        return True

    def pause(seconds: float) -> bool:
        return signal.sigtimedwait(SIGNALS, seconds) is None

    try:
        return join_with_bootstrap(start, machine.name, loop, wall_ns, pause)
    except JoiningEnded as error:
        raise AgentRefusedError(str(error)) from None


def _join(start: StartConfiguration, loop: LoopThread, tracer: Tracer | None) -> HttpApiLines:
    """The ways to the API server of `--kubeconfig`.

    Raises AgentRefusedError; a server that is away is waited for.
    """
    try:
        access = read_access(start.node.kubeconfig)
    except DocumentError as error:
        raise AgentRefusedError("\n".join(f"{start.node.kubeconfig}: {fault}" for fault in error.faults)) from None
    for warning in access.warnings:
        LOG.warning("%s: %s", start.node.kubeconfig, warning)
    LOG.info("the API server is %s", access.cluster.shown)
    return open_lines(access, loop, start.configuration, tracer)


def _serve(
    start: StartConfiguration, machine: NodeMachine, node: NodeAgent, capabilities: NodeCapabilities, loop: LoopThread
) -> NodeServer:
    """The node's HTTP server, started. Raises AgentRefusedError."""
    configuration = start.configuration
    names = (machine.name, *machine.addresses)
    serving = Serving(
        machine.name,
        configuration,
        start.node.cert_dir,
        names,
        start.shown,
        root=node.plan.facts.root_directory,
        gates=start.gates,
        manifests=bool(node.plan.pushed_manifests),
    )
    try:
        server = node_server(
            serving,
            ports_of(configuration),
            NodeWindow(node),
            capabilities.cri,
            capabilities.log_files,
            capabilities.api,
            loop,
            capabilities.meters,
            capabilities.tracer,
        )
        server.start()
    except (CertificateError, PortTakenError) as error:
        raise AgentRefusedError(str(error)) from None
    if server.ports.main is not None:
        LOG.info("serving on %s:%d", configuration.address, server.ports.main)
        if is_open_to_all(configuration):
            LOG.warning(
                "whoever reaches port %d may run commands in every container: that is what the defaults without "
                "--config mean; set authentication.anonymous.enabled: false and authorization.mode: Webhook there",
                server.ports.main,
            )
    return server


def _wait(node: NodeAgent) -> str:
    """Wait for a signal; return its name.

    Meanwhile, feed the watchdog of systemd if it asks for that and the agent is healthy.
    """
    every = watchdog_interval_seconds()
    if every is None:
        return signal.Signals(signal.sigwait(SIGNALS)).name
    while True:
        caught = signal.sigtimedwait(SIGNALS, every)
        if caught is not None:
            return signal.Signals(caught.si_signo).name
        if not (late := node.late_actors()):
            notify(WATCHDOG)
        else:
            LOG.error("systemd is not told that all is well: %s is late (%s)", late[0].path, late[0].doing)


def _hold(start: StartConfiguration, after: ExitStack) -> bool:
    """Wait for the lock file. False when a signal came first."""
    lock = after.enter_context(closing(LockFile(start.node.lock_file)))
    said = False
    while not lock.try_acquire():
        if not said:
            said = True
            LOG.info("waiting for %s, which another agent holds", lock.path)
        if signal.sigtimedwait(SIGNALS, LOCK_RETRY_SECONDS) is not None:
            return False
    if start.node.exit_on_lock_contention:
        process = os.getpid()

        def make_way() -> None:
            LOG.info("another agent wants %s", lock.path)
            os.kill(process, signal.SIGTERM)

        lock.on_contention(make_way)
    return True


def _refuse(start: StartConfiguration, found: Findings) -> None:
    """Faults of the machine under this configuration (spec 10.1)."""
    configuration = start.configuration
    texts = [*map(str, found.faults), *_id_faults(configuration, LocalIdFiles(start.node.root_dir))]
    if configuration.enable_server:
        joined = bool(start.node.kubeconfig)
        texts += gate_faults(configuration.authentication, configuration.authorization, joined)
    if texts:
        raise AgentRefusedError("\n".join(texts))


def _id_faults(configuration: KubeletConfiguration, files: IdFiles) -> tuple[str, ...]:
    """Faults of the subordinate ids for pods with user namespaces (spec 17.6)."""
    try:
        node_range(*files.subordinate(), configuration.ids_per_pod, configuration.max_pods)
    except (IdRangeError, OSError) as fault:
        return (f"$.userNamespaces.idsPerPod: {why(fault)}",)
    return ()


def _tell_warnings(start: StartConfiguration) -> None:
    for warning in start.warnings:
        LOG.warning("%s", warning)
    for path in start.skipped:
        LOG.info("--config-dir: %s is passed over, as its name does not end in .conf", path)
    configuration = start.configuration
    if not (start.node.kubeconfig or configuration.static_pod_path or configuration.static_pod_url):
        LOG.warning("neither --kubeconfig nor staticPodPath nor staticPodURL is set: there is nothing to run")
