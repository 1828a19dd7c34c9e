"""The node's HTTP server as commands use it: made of a configuration and a node; what is wrong is told early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from actors.node import Node
from actors.node_object.settings import agent_version
from cli.main import own_version
from config.flags import NodeFlags
from config.kubelet import KubeletConfiguration, configuration_document
from config.objects import Pod
from runtime.api import ApiLines
from runtime.cri import Cri
from runtime.event_loop import LoopThread
from runtime.http_server.endpoints import Facts, NodeEndpoints
from runtime.http_server.gate import ALWAYS_ALLOW, Gate
from runtime.http_server.node_server import NodeServer, Ports, serving_files
from runtime.http_server.serving_certificate import ServingTls
from runtime.log_source import LogSource

SECOND_NS = 1_000_000_000


class NodeWindow:
    """`runtime.http_server.endpoints.NodeView` of a node that may be made after its server: until then it is empty."""

    def __init__(self, node: Node | None = None) -> None:
        self.node = node

    def pods(self) -> tuple[Pod, ...]:
        return () if self.node is None else self.node.pods()

    def late(self) -> tuple[str, ...]:
        late = () if self.node is None else self.node.late_actors()
        return tuple(f"{each.path} is late by {each.age_ns // SECOND_NS} s ({each.doing})" for each in late)


@dataclass(frozen=True, slots=True)
class Serving:
    """What a server is made of. `directory` and `names`: of a certificate that it makes itself."""

    node: str
    configuration: KubeletConfiguration
    directory: str
    names: Sequence[str]
    flags: Mapping[str, str]


def node_server(
    serving: Serving,
    ports: Ports,
    window: NodeWindow,
    cri: Cri,
    logs: LogSource,
    api: ApiLines | None,
    loop: LoopThread,
) -> NodeServer:
    """Not started yet. Raises CertificateError, GateError."""
    configuration = serving.configuration
    gate = Gate(
        serving.node, configuration.authentication, configuration.authorization, None if api is None else api.main
    )
    tls = None
    if ports.main is not None:
        tls = ServingTls(serving_files(configuration, serving.directory, serving.names))
    facts = Facts(
        node=serving.node,
        version=agent_version(own_version()),
        configuration=configuration_document(configuration),
        flags=serving.flags,
        debug=configuration.enable_debugging_handlers,
    )
    return NodeServer(configuration, ports, NodeEndpoints(facts, window, cri, logs, gate), tls, loop)


def flags_shown(flags: NodeFlags) -> Mapping[str, str]:
    """Each flag by its name."""
    return {name.replace("_", "-"): str(value) for name, value in msgspec.structs.asdict(flags).items()}


def is_open_to_all(configuration: KubeletConfiguration) -> bool:
    """Whoever reaches the port may do everything, commands in containers among it."""
    return configuration.authentication.anonymous.enabled and configuration.authorization.mode == ALWAYS_ALLOW
