"""The `ExecCredential` documents that a credential plugin reads and writes, both versions. Pure.

Owns the two documents. Running the plugin is `runtime.api.credentials`.
"""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import msgspec

from config.credentials.kubeconfig import ClusterAccess, ExecPlugin, Pem


class CredentialPluginError(Exception):
    """The plugin gives no credential; the message says why, and how to install it when it is not there."""


class PluginAnswer(msgspec.Struct, frozen=True):
    """A token, or a certificate with its key, or both; of use before `expires_ns` (None: until refused)."""

    token: str = ""
    pair: tuple[Pem, Pem] | None = None
    expires_ns: int | None = None

    def __repr__(self) -> str:
        """A repr ends in logs."""
        return f"PluginAnswer(..., expires_ns={self.expires_ns})"


def exec_info(plugin: ExecPlugin, cluster: ClusterAccess, authority_pem: str) -> str:
    """The value of KUBERNETES_EXEC_INFO. `authority_pem` is the content of the cluster's authority."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        told = {
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "certificate-authority-data": base64.b64encode(authority_pem.encode()).decode(),
            "proxy-url": cluster.proxy_url,
            "disable-compression": cluster.disable_compression,
        }
        spec["cluster"] = {name: value for name, value in told.items() if value} | {"config": cluster.exec_extension}
    document = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(document).decode()


class _Status(msgspec.Struct):
    token: str | None = None
    certificate: str | None = msgspec.field(default=None, name="clientCertificateData")
    key: str | None = msgspec.field(default=None, name="clientKeyData")
    expires: str | None = msgspec.field(default=None, name="expirationTimestamp")


class _ExecCredential(msgspec.Struct):
    api_version: str = msgspec.field(default="", name="apiVersion")
    kind: str = ""
    status: _Status | None = None


_DECODER = msgspec.json.Decoder(_ExecCredential)


def read_answer(plugin: ExecPlugin, printed: bytes) -> PluginAnswer:
    """Read the plugin's output. Raises CredentialPluginError, which shows none of it."""
    try:
        document = _DECODER.decode(printed)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CredentialPluginError(f"{plugin.command} printed no ExecCredential: {error}") from None
    if document.kind != "ExecCredential" or document.api_version != plugin.api_version:
        found = f"{document.api_version or 'no apiVersion'} {document.kind or 'without kind'}"
        raise CredentialPluginError(
            f"{plugin.command} printed {found}; the kubeconfig asks for {plugin.api_version} ExecCredential"
        )
    status = document.status
    if status is None or not (status.token or status.certificate or status.key):
        raise CredentialPluginError(
            f"{plugin.command} printed an ExecCredential without a token or certificate in its status"
        )
    if bool(status.certificate) != bool(status.key):
        raise CredentialPluginError(
            f"{plugin.command} printed one of clientCertificateData and clientKeyData without the other"
        )
    pair = (Pem(data=status.certificate), Pem(data=status.key)) if status.certificate and status.key else None
    return PluginAnswer(status.token or "", pair, _expiry_ns(plugin, status.expires))


def _expiry_ns(plugin: ExecPlugin, text: str | None) -> int | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError("it has no time zone")
    except ValueError as error:
        raise CredentialPluginError(f"{plugin.command} printed the expirationTimestamp {text!r}: {error}") from None
    return int(moment.timestamp() * 10**9)
