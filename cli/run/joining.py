"""How a node gets its own credentials (spec 17.3).

With `--bootstrap-kubeconfig` it requests a certificate.

The credentials in `--kubeconfig` are used for as long as they are valid. Otherwise the agent makes a request with the
credentials of the bootstrap kubeconfig, and waits until somebody approves it. Then it writes the kubeconfig, with
references to the certificate and to no secret of the bootstrap. It waits for an API server that is away. An agent that
ends before its request was approved leaves the key, and the next one waits for the same request.
"""

from __future__ import annotations

import base64
import logging
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from actors.node.certificate import CLIENT as CLIENT_PURPOSE
from actors.node.certificate import certificate_request
from actors.node.certificate_rules import CertificateVerdict, verdict_of
from cli.run.node_start import open_lines
from config.api.resources import CERTIFICATE_SIGNING_REQUESTS
from config.credentials.kubeconfig import ApiAccess, Pem, kubeconfig_document
from config.documents.codec import DocumentError
from config.objects import CertificateSigningRequest
from config.start_configuration import StartConfiguration
from runtime.api import Api, ApiError, create, get
from runtime.api.access import read_access
from runtime.api.lines import HttpApiLines
from runtime.files.whole_file import write_whole
from runtime.io.event_loop import LoopThread
from runtime.state.certificate_keys import (
    CLIENT,
    SERVER,
    CertificateKeys,
    LocalCertificateKeys,
    checked_pair,
    current_file,
    request_name,
)

LOG = logging.getLogger("actorlet.run")

CALL_SECONDS = 30.0
LOOK_FIRST_SECONDS, LOOK_MAX_SECONDS = 1.0, 15.0
ASK_AGAIN_SECONDS = 3600.0
"""A request without a decision for so long is made again."""
MENDED_BY = {
    401: "write a new token into its file (`kubeadm token create`)",
    403: "bind the ClusterRole system:node-bootstrapper to the group system:bootstrappers",
}
"""What to do when the API server refuses a request with this code."""

Pause = Callable[[float], bool]
"""Wait so many seconds; False: the agent is to end."""


class BootstrapCredentials:
    """The credentials of `--bootstrap-kubeconfig`, for a running node whose certificate has expired.

    The file is read each time: its tokens last for a day, and somebody may have replaced it.
    """

    def __init__(self, start: StartConfiguration, loop: LoopThread) -> None:
        self._start = start
        self._loop = loop
        self._lines: HttpApiLines | None = None

    def api(self) -> Api:
        """See `BootstrapApi`."""
        self.close()
        access = read_access(self._start.node.bootstrap_kubeconfig)
        self._lines = open_lines(access, self._loop, self._start.configuration)
        return self._lines.main

    def close(self) -> None:
        """Close the API that `api` returned last."""
        lines, self._lines = self._lines, None
        if lines is not None:
            lines.close()


class JoiningEnded(Exception):  # noqa: N818  # an outcome told to the user, not a mishap
    """The node cannot join; the text says why, and what to do."""


def certificate_keys(start: StartConfiguration) -> tuple[CertificateKeys, CertificateKeys | None]:
    """Keys for the certificate of the node's server, and for the client certificate.

    The second is None unless the agent renews it.
    """
    directory = start.node.cert_dir
    mine: CertificateKeys | None = None
    if start.configuration.rotate_certificates and start.node.kubeconfig:
        current = current_file(directory, CLIENT)
        used = _certificate_of(start.node.kubeconfig)
        if used == current:
            mine = LocalCertificateKeys(directory, CLIENT)
        else:
            what = f"the certificate {used}" if used else "no certificate in a file"
            LOG.warning(
                "rotateCertificates: %s has %s, which is not renewed; that of a node is %s",
                start.node.kubeconfig,
                what,
                current,
            )
    return LocalCertificateKeys(directory, SERVER), mine


def join_with_bootstrap(
    start: StartConfiguration, node_name: str, loop: LoopThread, wall_ns: int, pause: Pause
) -> bool:
    """Return once `--kubeconfig` is there. False when the agent is to end. Raises JoiningEnded."""
    node = start.node
    fault = _fault_of(node.kubeconfig, wall_ns)
    if fault is None:
        return True
    if fault:
        LOG.warning("--kubeconfig %s cannot be used: %s", node.kubeconfig, fault)
    try:
        access = read_access(node.bootstrap_kubeconfig)
    except DocumentError as error:
        raise JoiningEnded(f"--bootstrap-kubeconfig: {error}") from None
    LOG.info("%s has no valid credentials: they are asked for at %s", node.kubeconfig, access.cluster.shown)
    keys = LocalCertificateKeys(node.cert_dir, CLIENT, patient=True)
    with closing(open_lines(access, loop, start.configuration)) as lines:
        while (certificate := _signed(lines.main, keys, f"system:node:{node_name}", pause)) is None:
            if not pause(LOOK_FIRST_SECONDS):
                return False
    if not certificate:
        return False
    try:
        keys.accept(certificate)
        write_whole(node.kubeconfig, _kubeconfig(access, current_file(node.cert_dir, CLIENT)))
    except (OSError, ValueError) as error:
        raise JoiningEnded(f"--kubeconfig {node.kubeconfig}: it cannot be made: {error}") from None
    LOG.info("the node has a certificate of its own; %s refers to it", node.kubeconfig)
    return True


def _signed(api: Api, keys: LocalCertificateKeys, user: str, pause: Pause) -> bytes | None:
    """The certificate, PEM; empty when the agent is to end; None: ask anew. Raises JoiningEnded."""
    asked, wait, waited = False, LOOK_FIRST_SECONDS, 0.0
    pem = keys.request(user, ())
    # An agent before us may have asked with the same key: then its request has this name, and is ours.
    name = request_name(pem, user, CLIENT_PURPOSE.signer, *CLIENT_PURPOSE.usages)
    request = certificate_request(CLIENT_PURPOSE, pem, name)
    while waited < ASK_AGAIN_SECONDS:
        try:
            if not asked:
                _ask(api, request)
                asked = True
                LOG.info("request %s waits for approval (`kubectl certificate approve %s`)", name, name)
            found = api.call(get(CERTIFICATE_SIGNING_REQUESTS, "", name)).result(CALL_SECONDS)
        except (ApiError, TimeoutError) as error:
            if isinstance(error, ApiError) and error.code in MENDED_BY:
                raise JoiningEnded(
                    f"--bootstrap-kubeconfig: the API server does not let it ask: {error}; {MENDED_BY[error.code]}"
                ) from None
            if isinstance(error, ApiError) and error.not_found:
                return None
            LOG.warning("a certificate cannot be asked for yet: %s", error or "no answer")
        else:
            verdict, why = verdict_of(found)
            if verdict is CertificateVerdict.ISSUED and found.status is not None:
                return base64.b64decode(found.status.certificate or "")
            if verdict is not CertificateVerdict.WAITS:
                keys.forget()
                raise JoiningEnded(f"request {name} for a certificate was {verdict.value}: {why}")
        if not pause(wait):
            return b""
        waited, wait = waited + wait, min(2 * wait, LOOK_MAX_SECONDS)
    keys.forget()
    return None


def _ask(api: Api, request: CertificateSigningRequest) -> None:
    """Make sure that the request exists in the API. Raises ApiError, TimeoutError."""
    try:
        api.call(create(CERTIFICATE_SIGNING_REQUESTS, "", request)).result(CALL_SECONDS)
    except ApiError as error:
        if not error.already_exists:
            raise


def _fault_of(kubeconfig: str, wall_ns: int) -> str | None:
    """Why it cannot be used, as far as that can be seen; empty if it is missing, None if it can be used."""
    if not os.path.exists(kubeconfig):
        return ""
    try:
        user = read_access(kubeconfig).user
    except DocumentError as error:
        return str(error)
    if not user.client_certificate:
        return None
    try:
        certificate, key = _content(user.client_certificate), _content(user.client_key)
        ends_ns = checked_pair(certificate, key).ends_ns
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except (ValueError, TypeError) as error:
        return f"the certificate {user.client_certificate.path or 'in it'} or its key cannot be used: {error}"
    return None if ends_ns > wall_ns else "its certificate has expired"


def _content(pem: Pem) -> bytes:
    return pem.data.encode() or Path(pem.path).read_bytes()


def _certificate_of(kubeconfig: str) -> str:
    """The file of its certificate; empty when it has none."""
    try:
        return read_access(kubeconfig).user.client_certificate.path
    except DocumentError:
        return ""


def _kubeconfig(access: ApiAccess, certificate: str) -> bytes:
    cluster = access.cluster
    return kubeconfig_document(
        cluster.server,
        name="default-cluster",
        user="default-auth",
        certificate_authority=cluster.certificate_authority,
        insecure_skip_tls_verify=cluster.insecure_skip_tls_verify,
        client_certificate=Pem(path=certificate),
        client_key=Pem(path=certificate),
    )
