"""All listeners of a node: main port, read-only port, health port (spec 11.1).

The configuration decides which of them exist.

They are made first, then started, then closed. A port of 0 in `Ports` means any free port, and None means no port.
Failures are reported before anything is served: certificates (`CertificateError`), a required but missing API server
(`GateError`), and taken ports (`PortTakenError`).
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from config.kubelet import KubeletConfiguration
from config.kubelet.tls import chosen_curve
from runtime.http_server.auth.self_signed import self_signed
from runtime.http_server.auth.serving_certificate import ServingFiles, ServingTls
from runtime.http_server.endpoints import NodeEndpoints
from runtime.http_server.listener import HttpListener
from runtime.io.event_loop import LoopThread
from runtime.state.certificate_keys import SERVER, current_file

LOOPBACK = "127.0.0.1"


class PortTakenError(Exception):
    """An address cannot be had; the text says which field names it, and why."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports; None: nothing listens there."""

    main: int | None
    read_only: int | None
    health: int | None


def ports_of(configuration: KubeletConfiguration) -> Ports:
    """The ports in the configuration."""
    served = configuration.enable_server
    return Ports(
        main=configuration.port if served else None,
        read_only=(configuration.read_only_port or None) if served else None,
        health=configuration.healthz_port or None,
    )


def serving_files(configuration: KubeletConfiguration, directory: str, names: Sequence[str]) -> ServingFiles:
    """The certificate and key of the server.

    The pair that the configuration names comes first. Without one, `serverTLSBootstrap` gives the pair that the cluster
    signs, which may not exist yet. Else a self-signed one in `directory` for these names, made if missing.

    Raises CertificateError.
    """
    pair = configuration.tls_cert_file, configuration.tls_private_key_file
    awaited = asks_cluster(configuration)
    if awaited:
        certificate = key = current_file(directory, SERVER)
    else:
        certificate, key = pair if pair[0] else self_signed(directory, names)
    return ServingFiles(
        certificate,
        key,
        client_authority=configuration.authentication.x509.client_ca_file,
        min_version=configuration.tls_min_version,
        ciphers=configuration.tls_cipher_suites,
        curve=chosen_curve(configuration.tls_curve_preferences),
        awaited=awaited,
    )


def asks_cluster(configuration: KubeletConfiguration) -> bool:
    """Whether the cluster is to sign the serving certificate."""
    return configuration.server_tls_bootstrap and not configuration.tls_cert_file


class NodeServer:
    """See the module. `ports`: after `start`, those that are served."""

    def __init__(
        self,
        configuration: KubeletConfiguration,
        ports: Ports,
        endpoints: NodeEndpoints,
        tls: ServingTls | None,
        loop: LoopThread,
    ) -> None:
        self._configuration = configuration
        self._wanted = ports
        self._endpoints = endpoints
        self._tls = tls
        self._loop = loop
        self._listeners: list[HttpListener] = []
        self.ports = ports

    def start(self) -> None:
        """Start all listeners. Raises PortTakenError; nothing is served then."""
        configuration, endpoints, wanted = self._configuration, self._endpoints, self._wanted
        try:
            main = None
            if wanted.main is not None and self._tls is not None:
                listener = HttpListener(
                    self._loop,
                    endpoints.main,
                    host=configuration.address,
                    port=wanted.main,
                    tls=self._tls.context,
                    upgrade=endpoints.upgrade,
                    stays=endpoints.translates,
                    idle_ns=configuration.streaming_connection_idle_timeout,
                )
                main = self._listen(listener, "$.port")
            read_only = health = None
            if wanted.read_only is not None:
                listener = HttpListener(
                    self._loop, endpoints.read_only, host=configuration.address, port=wanted.read_only
                )
                read_only = self._listen(listener, "$.readOnlyPort")
            if wanted.health is not None:
                host = configuration.healthz_bind_address
                listener = HttpListener(self._loop, endpoints.health, host=host, port=wanted.health)
                health = self._listen(listener, "$.healthzPort")
        except PortTakenError:
            self.close()
            raise
        self.ports = Ports(main, read_only, health)

    def observe(self, token: str = "") -> str:
        """Serve only the observer, on loopback at a free port, without TLS, to holders of the token.

        An empty token is replaced by a new one. Returns a link with the token in it. Raises PortTakenError.
        """
        token = token or secrets.token_urlsafe(18)
        listener = HttpListener(self._loop, self._endpoints.observer(token), host=LOOPBACK, port=0)
        return f"http://actorlet:{token}@{LOOPBACK}:{self._listen(listener, 'the observer')}/ui"

    def close(self) -> None:
        """Stop serving. May be called more than once."""
        listeners, self._listeners = self._listeners, []
        for each in listeners:
            each.close()
        self._endpoints.close()

    def _listen(self, listener: HttpListener, field: str) -> int:
        try:
            listener.start()
        except OSError as error:
            why = error.strerror or str(error)
            if error.errno == errno.EADDRINUSE:
                why = f"{os.strerror(error.errno)}; `ss -ltnp 'sport = :{listener.port}'` names who has it"
            raise PortTakenError(f"{field}: {listener.host}:{listener.port} cannot be served: {why}") from None
        self._listeners.append(listener)
        return listener.port
