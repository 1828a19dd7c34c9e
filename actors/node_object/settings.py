"""The constant part of the Node object: what flags and configuration ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from actors.node_object.addresses import NodeIps
from config.kubelet import KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates

KUBERNETES_VERSION = "v1.36.2"
"""The release whose kubelet this agent replaces; a cluster's version checks compare it."""
AGENT = "+actorlet"
"""The mark in a version that tells this agent from kubelets."""


def agent_version(own: str = "") -> str:
    """`kubeletVersion`: the release, then agent and version as build metadata.

    No version check compares build metadata.
    """
    return f"{KUBERNETES_VERSION}{AGENT}" + (f".{own}" if own else "")


@dataclass(frozen=True, slots=True)
class Registration:
    """The settings of the node that only flags have (spec 12.3).

    `node_ips`: as in `--node-ip`. `host_name`: the label `kubernetes.io/hostname` and the address of type Hostname;
    empty for the node's name. `found`: the addresses found at the agent's start, until the network is read again.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    node_ips: tuple[str, ...] = ()
    found: NodeIps | None = None
    external_cloud: bool = False
    host_name: str = ""
    version: str = agent_version()


@dataclass(frozen=True, slots=True)
class Remark:
    """A fact about the node, sent as a Warning event at the agent's start."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """See the module. `root_directory`: its file system is the node's ephemeral storage."""

    name: str
    root_directory: str
    configuration: KubeletConfiguration
    registration: Registration = field(default_factory=Registration)
    gates: FeatureGates = field(default_factory=lambda: FeatureGates({}))
    remarks: tuple[Remark, ...] = ()

    @property
    def host_name(self) -> str:
        return self.registration.host_name or self.name
