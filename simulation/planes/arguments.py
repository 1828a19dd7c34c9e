"""The command lines of the programs of a control plane. Pure.

All listen on loopback only. `etcd` syncs nothing to the disk, since its data ends with the cluster. The controllers and
the scheduler have no port, and elect no leader.
"""

from __future__ import annotations

import os
from typing import NamedTuple

LOOPBACK = "127.0.0.1"
SERVICES = "10.0.0.0/24"
"""The addresses of services.

Agents of a simulated cluster name 10.0.0.10 to pods as the server of names.
"""
WORKLOADS = (
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "horizontal-pod-autoscaler-controller",
    "job-controller",
    "persistentvolume-binder-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
)
"""The controllers that the embedded API server has no part of its own for."""


class Ports(NamedTuple):
    """TCP ports on loopback."""

    clients: int
    """etcd's, for the API server."""
    peers: int
    """etcd's, for other members; there are none."""
    api: int


class Files(NamedTuple):
    """Names of files in the directory of a control plane."""

    directory: str

    def at(self, name: str) -> str:
        return os.path.join(self.directory, name)

    @property
    def authority(self) -> str:
        return self.at("ca.crt")

    @property
    def authority_key(self) -> str:
        """With it the controllers sign certificates of nodes."""
        return self.at("ca.key")

    @property
    def certificate(self) -> str:
        return self.at("apiserver.crt")

    @property
    def key(self) -> str:
        return self.at("apiserver.key")

    @property
    def account_key(self) -> str:
        """Signs the tokens of service accounts."""
        return self.at("service-accounts.key")

    @property
    def towards_nodes(self) -> str:
        """The API server's certificate and key when it calls an agent."""
        return self.at("kube-apiserver-kubelet-client.pem")

    @property
    def egress(self) -> str:
        """Says that agents are reached through `door`."""
        return self.at("egress.json")

    @property
    def door(self) -> str:
        """The socket of the simulated network."""
        return self.at("nodes.sock")


def etcd(program: str, files: Files, ports: Ports) -> list[str]:
    clients, peers = (f"http://{LOOPBACK}:{port}" for port in (ports.clients, ports.peers))
    return [
        program,
        f"--data-dir={files.at(f'etcd-{ports.clients}')}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync=true",
    ]


def api_server(program: str, files: Files, ports: Ports, *, accounts: bool, real_nodes: bool = False) -> list[str]:
    """`accounts`: whether pods get service accounts. Without controllers there are none to get.

    `real_nodes`: nodes are reached by their names, not through the socket of the simulated network.
    """
    return [
        program,
        f"--etcd-servers=http://{LOOPBACK}:{ports.clients}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={ports.api}",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={files.at('certificates')}",
        f"--tls-cert-file={files.certificate}",
        f"--tls-private-key-file={files.key}",
        f"--client-ca-file={files.authority}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        *([] if accounts else ["--disable-admission-plugins=ServiceAccount"]),
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={files.account_key}",
        f"--service-account-signing-key-file={files.account_key}",
        f"--service-cluster-ip-range={SERVICES}",
        "--allow-privileged=true",
        *([] if real_nodes else [f"--egress-selector-config-file={files.egress}"]),
        "--enable-bootstrap-token-auth=true",
        "--kubelet-preferred-address-types=Hostname",
        f"--kubelet-client-certificate={files.towards_nodes}",
        f"--kubelet-client-key={files.towards_nodes}",
        f"--kubelet-certificate-authority={files.authority}",
    ]


def controllers(program: str, kubeconfig: str, files: Files, *, real_nodes: bool = False) -> list[str]:
    """The command line of a kube-controller-manager with all controllers, for a real API server.

    `real_nodes`: it signs certificates of nodes. Those of simulated nodes are signed by the kit.
    """
    more = [f"--root-ca-file={files.authority}", f"--service-account-private-key-file={files.account_key}"]
    if real_nodes:
        more += [f"--cluster-signing-cert-file={files.authority}", f"--cluster-signing-key-file={files.authority_key}"]
    return [program, *_client(kubeconfig), *more]


def workload_controllers(program: str, kubeconfig: str) -> list[str]:
    """The command line of a kube-controller-manager for the embedded API server, with JSON."""
    return [
        program,
        *_client(kubeconfig),
        "--kube-api-content-type=application/json",
        f"--controllers={','.join(WORKLOADS)}",
    ]


def scheduler(program: str, kubeconfig: str) -> list[str]:
    return [program, *_client(kubeconfig)]


def _client(kubeconfig: str) -> list[str]:
    return [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]
