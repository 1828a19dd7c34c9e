"""The node's HTTP server as commands use it: made of a configuration and a node.

Faults are reported early.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from actors.node.node import NodeAgent
from actors.node.numbers import NodeNumbers
from actors.node_object.settings import agent_version
from cli.run.log_lines import set_verbosity
from cli.run.manifest_door import NodeManifests
from cli.run.observer_view import NOTHING as NO_PARTS
from cli.run.observer_view import look, timeline
from cli.version import VERSION
from config.credentials.kubeconfig import Pem
from config.credentials.masked import MASK
from config.credentials.masked_urls import masked_url
from config.kubelet import KubeletConfiguration, configuration_document
from config.kubelet.feature_gates import FeatureGates
from config.objects import Pod
from runtime.api import ApiLines
from runtime.cri import Cri
from runtime.http_server.auth.client_certificates import NOTHING
from runtime.http_server.auth.gate import ALWAYS_ALLOW, AccessGate
from runtime.http_server.auth.serving_certificate import ServingTls
from runtime.http_server.endpoints import Facts, NodeEndpoints
from runtime.http_server.node_server import NodeServer, Ports, serving_files
from runtime.http_server.paths import Switch
from runtime.http_server.system_logs import DIRECTORY, SystemLogPlaces
from runtime.io.event_loop import LoopThread
from runtime.logs.source import LogSource
from runtime.metrics import kubelet_api as metric_names
from runtime.metrics.certificates import seconds_left
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.traces.spans import Tracer

SECOND_NS = 1_000_000_000


class NodeWindow(NodeManifests):
    """The `ServedNode` of a node that may be made after its server: until then it is empty.

    See `runtime.http_server.endpoints.ServedNode`.
    """

    def __init__(self, node: NodeAgent | None = None) -> None:
        super().__init__(node)
        self._looked = NO_PARTS

    def summary(self, *, only_cpu_and_memory: bool = False) -> bytes | None:
        numbers = self._numbers()
        return None if numbers is None else numbers.summary(only_cpu_and_memory=only_cpu_and_memory)

    def metrics(self) -> bytes:
        return self._page(NodeNumbers.metrics)

    def cadvisor(self) -> bytes:
        return self._page(NodeNumbers.cadvisor)

    def resource(self) -> bytes:
        return self._page(NodeNumbers.resource)

    def probes(self) -> bytes:
        return self._page(NodeNumbers.probes)

    def _page(self, page: Callable[[NodeNumbers], bytes]) -> bytes:
        numbers = self._numbers()
        return b"" if numbers is None else page(numbers)

    def _numbers(self) -> NodeNumbers | None:
        return None if self.node is None else NodeNumbers(self.node, VERSION)

    def look(self) -> Mapping[str, bytes]:
        if self.node is not None:
            self._looked = look(self.node, VERSION, self._looked)
        return self._looked

    def timeline(self, uid: str) -> bytes | None:
        return None if self.node is None else timeline(self.node, uid)

    def pods(self) -> tuple[Pod, ...] | None:
        return None if self.node is None else self.node.every_pod()

    def late(self) -> tuple[str, ...]:
        late = () if self.node is None else self.node.late_actors()
        return tuple(f"{each.path} is late by {each.age_ns // SECOND_NS} s ({each.doing})" for each in late)


@dataclass(frozen=True, slots=True)
class Serving:
    """The inputs of a server.

    `directory` and `names`: of a certificate that it makes itself. `root`: the node's directory; `manifests`: whether
    the server takes manifests over HTTP.
    """

    node: str
    configuration: KubeletConfiguration
    directory: str
    names: Sequence[str]
    flags: Mapping[str, str]
    root: str = "/var/lib/kubelet"
    gates: FeatureGates | None = None
    manifests: bool = False
    system_logs: str = DIRECTORY


def node_server(
    serving: Serving,
    ports: Ports,
    window: NodeWindow,
    cri: Cri,
    logs: LogSource,
    api: ApiLines | None,
    loop: LoopThread,
    meters: Meters = UNMEASURED,
    tracer: Tracer | None = None,
) -> NodeServer:
    """Make the server, without starting it. Raises CertificateError, GateError."""
    configuration = serving.configuration
    asked = None if api is None else api.reviews or api.main
    gate = AccessGate(serving.node, configuration.authentication, configuration.authorization, asked, meters=meters)
    gates = serving.gates or FeatureGates({})
    tls = None
    if ports.main is not None:
        files = serving_files(configuration, serving.directory, serving.names)
        tls = ServingTls(files)
        meters.follow(metric_names.SERVER_CERTIFICATE_TTL, lambda: seconds_left(Pem(path=files.certificate)))
    facts = Facts(
        node=serving.node,
        version=agent_version(VERSION),
        configuration=configuration_document(configuration_shown(configuration)),
        flags=serving.flags,
        on=switches_of(serving),
        root=serving.root,
        system_logs=SystemLogPlaces(serving.system_logs, queries=configuration.enable_system_log_query),
        set_verbosity=set_verbosity,
        idle_ns=configuration.streaming_connection_idle_timeout,
        websockets=gates.enabled("ExtendWebSocketsToKubelet"),
        split_logs=gates.enabled("PodLogsQuerySplitStreams"),
    )
    shown_by = tls.shown_by if tls is not None else lambda _: NOTHING
    endpoints = NodeEndpoints(facts, window, cri, logs, gate, meters, shown_by, tracer)
    return NodeServer(configuration, ports, endpoints, tls, loop)


def switches_of(serving: Serving) -> frozenset[Switch]:
    """The enabled switches of the server."""
    configuration = serving.configuration
    gates = serving.gates or FeatureGates({})
    held = {
        Switch.DEBUG: configuration.enable_debugging_handlers,
        Switch.PROFILING: configuration.enable_profiling_handler,
        Switch.VERBOSITY: configuration.enable_debug_flags_handler,
        Switch.SYSTEM_LOGS: configuration.enable_system_log_handler,
        Switch.CHECKPOINT: gates.enabled("ContainerCheckpoint"),
        Switch.STATUSZ: gates.enabled("ComponentStatusz"),
        Switch.FLAGZ: gates.enabled("ComponentFlagz"),
        Switch.MANIFESTS: serving.manifests,
    }
    return frozenset(switch for switch, on in held.items() if on)


def configuration_shown(configuration: KubeletConfiguration) -> KubeletConfiguration:
    """The configuration as clients may see it, without secrets of the node."""
    headers = {name: (MASK,) * len(values) for name, values in configuration.static_pod_url_header.items()}
    url = masked_url(configuration.static_pod_url)
    return msgspec.structs.replace(configuration, static_pod_url=url, static_pod_url_header=headers)


def is_open_to_all(configuration: KubeletConfiguration) -> bool:
    """Whether every client may do everything, including commands in containers."""
    return configuration.authentication.anonymous.enabled and configuration.authorization.mode == ALWAYS_ALLOW
