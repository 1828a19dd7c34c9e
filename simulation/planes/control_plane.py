"""A real control plane: etcd and kube-apiserver, and if they are there controllers and a scheduler.

It owns its programs, its authority and the files of its directory, which its caller removes. Whoever shows a
certificate of the authority is whom it names. Ports are free ones on loopback. Another program may take one before
etcd or the API server does; then both begin again with others.
"""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from config.credentials.kubeconfig import Pem, kubeconfig_document
from runtime.files.whole_file import write_whole
from runtime.io.event_loop import leave_to_others
from simulation.apiserver.front.tls import SERVER_NAMES, Authority, Certificate, write_key
from simulation.planes import arguments
from simulation.planes.arguments import LOOPBACK, Files, Ports
from simulation.planes.binaries import Binaries, PlaneError
from simulation.planes.door import egress_configuration
from simulation.planes.programs import Programs
from simulation.planes.remote import Remote, RemoteError, access_of

ADMIN = ("admin", "system:masters")
TOWARDS_AGENTS = ("kube-apiserver-kubelet-client", "system:masters")
TRIES = 3
LOOKS_EVERY_S = 0.1
_TAKEN = "address already in use"
_FIRST = ("/api/v1/namespaces/default", "/api/v1/namespaces/kube-system")
_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


class ControlPlane:
    """`directory`: private, and there. `begin`, then the rest; `end` in any case. All on one loop.

    `accounts`: pods must have a service account; unless it is said, only if there are controllers that make some.
    `real_nodes`: they are reached by their names, and their certificates are signed by the controllers.
    """

    def __init__(
        self,
        binaries: Binaries,
        directory: str,
        wall_ns: int,
        *,
        scheduler: bool,
        port: int = 0,
        accounts: bool | None = None,
        real_nodes: bool = False,
    ) -> None:
        self._binaries = binaries
        self._real_nodes = real_nodes
        self._accounts = bool(binaries.controller_manager) if accounts is None else accounts
        self._scheduler = binaries.scheduler if scheduler else ""
        self._port = port
        self._programs = Programs()
        self.authority = Authority(wall_ns)
        self.files = Files(directory)
        self.url = ""
        self.remote: Remote
        """The server as its admin asks it; there after `begin`."""

    @property
    def has_controllers(self) -> bool:
        return bool(self._binaries.controller_manager)

    @property
    def has_scheduler(self) -> bool:
        """Whether a kube-scheduler binds pods."""
        return bool(self._scheduler)

    def fault(self) -> str:
        """See `Programs.fault`."""
        return self._programs.fault()

    def ended(self) -> tuple[str, ...]:
        """See `Programs.ended`."""
        return self._programs.ended()

    async def begin(self) -> None:
        """Return when the server is ready, and what every cluster has is there. Raises PlaneError, OSError."""
        self._write_files()
        for tried in range(1, TRIES + 1):
            fault = await self._begin(_free_ports(self._port))
            if not fault:
                break
            await self._programs.end()
            if _TAKEN not in fault or tried == TRIES:
                raise PlaneError(fault)
        if self.has_controllers:
            program = self._binaries.controller_manager
            kubeconfig, real_nodes = self._own_kubeconfig(), self._real_nodes
            await self._programs.keep(arguments.controllers(program, kubeconfig, self.files, real_nodes=real_nodes))
        if self._scheduler:
            await self._programs.keep(arguments.scheduler(self._scheduler, self._own_kubeconfig()))
        for path in (*_FIRST, *([_ACCOUNT] if self.has_controllers else ())):
            await self._until_there(path)

    async def end(self) -> None:
        """End all programs. May be called more than once."""
        await self._programs.end()

    def certificate_of(self, user: str, *groups: str) -> Certificate:
        """The certificate of a user, with its key."""
        return self.authority.for_client(user, *groups)

    def write_kubeconfig(self, path: str, user: str, *groups: str) -> None:
        """Write a kubeconfig with a certificate of that user. Raises OSError."""
        shown = self.certificate_of(user, *groups)
        document = kubeconfig_document(
            self.url,
            name="actorlet",
            user=user,
            certificate_authority=Pem(data=self.authority.certificate),
            client_certificate=Pem(data=shown.certificate),
            client_key=Pem(data=shown.key),
        )
        write_whole(path, document, lasting=False)

    # --- how it begins ------------------------------------------------------------------------------------------------

    async def _begin(self, ports: Ports) -> str:
        """Start both programs; returns the fault when one of them ends."""
        self.url = f"https://{LOOPBACK}:{ports.api}"
        await self._programs.start(arguments.etcd(self._binaries.etcd, self.files, ports))
        words = arguments.api_server(
            self._binaries.api_server, self.files, ports, accounts=self._accounts, real_nodes=self._real_nodes
        )
        await self._programs.start(words)
        shown = self.certificate_of(*ADMIN)
        self.remote = Remote(access_of(self.url, self.authority.certificate, shown))
        try:
            await self._until_there("/readyz")
        except PlaneError as error:
            await self.remote.close()
            return str(error)
        return ""

    async def _until_there(self, path: str) -> None:
        """Raises PlaneError when a program ends before."""
        while True:
            try:
                await self.remote.ask("GET", path)
                return
            except RemoteError:
                await leave_to_others(LOOKS_EVERY_S)
            if fault := self._programs.fault():
                raise PlaneError(fault)

    def _write_files(self) -> None:
        files, directory = self.files, Path(self.files.directory)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (directory / files.authority).write_text(self.authority.certificate)
        if self._real_nodes:
            write_key(Path(files.authority_key), self.authority.key)
        own = self.authority.for_server(*SERVER_NAMES, LOOPBACK)
        (directory / files.certificate).write_text(own.certificate)
        write_key(Path(files.key), own.key)
        write_key(Path(files.account_key), _account_key())
        self.authority.client_file(directory, *TOWARDS_AGENTS)
        (directory / files.egress).write_bytes(egress_configuration(files.door))

    def _own_kubeconfig(self) -> str:
        """For controllers and scheduler, which act as admin here."""
        path = self.files.at("kubeconfig")
        if not os.path.exists(path):
            self.write_kubeconfig(path, *ADMIN)
        return path


def _account_key() -> str:
    """A key in the form from which the API server also takes the public half."""
    key = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def _free_ports(api: int) -> Ports:
    """Three ports that are free now; `api` unless it is 0."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(3)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        clients, peers, free = (each.getsockname()[1] for each in sockets)
    return Ports(clients, peers, api or free)
