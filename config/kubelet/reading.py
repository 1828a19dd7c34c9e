"""From plain data to a KubeletConfiguration with its defaults, and back (spec 12.2).

Owns what depends on more than one field: the header, fields that no longer do anything, and the few defaults that
look at other fields. Faults are collected, never raised, so that a person mends all of them at once.
"""

from collections.abc import Mapping

import msgspec

from config.documents.codec import DocumentError, Faults
from config.documents.text import read_document
from config.kubelet.configuration import API_VERSION, KIND, KubeletConfiguration
from config.kubelet.crash_loop import default_crash_loop_max_ns
from config.kubelet.feature_gates import choose_gates
from config.kubelet.shapes import read_struct, write_struct

DEPRECATED_FIELDS: Mapping[str, tuple[str, str]] = {
    "runOnce": ("running once is gone", "remove it; `actorlet up --once` shows pods and ends"),
    "iptablesMasqueradeBit": ("it has no effect any more", "remove it; kube-proxy sets its own mark"),
    "iptablesDropBit": ("it has no effect any more", "remove it"),
    "hairpinMode": ("it has no effect with a CRI runtime", "remove it; configure the CNI plugin instead"),
}
"""Known fields that do nothing: why, and what to do."""


class ReadConfiguration(msgspec.Struct, frozen=True):
    """The result of reading; faulty fields have their defaults."""

    configuration: KubeletConfiguration
    faults: tuple[DocumentError, ...]
    warnings: tuple[DocumentError, ...]


def read_bytes(text: bytes) -> tuple[dict[str, object], Faults]:
    """(one document as plain data, its faults), with every duplicate key and header fault."""
    value, faults = read_document(text)
    if faults and value is None:
        return {}, faults
    if value is None:
        hint = f"start with 'apiVersion: {API_VERSION}' and 'kind: {KIND}'"
        return {}, Faults([DocumentError("$", "the document is empty", hint)])
    if not isinstance(value, dict):
        return {}, Faults([*faults, DocumentError("$", "must be an object", f"start with 'kind: {KIND}'")])
    for name, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        if (found := value.get(name)) != expected:
            reason = "is missing" if found is None else f"is {found!r}, which this is not"
            faults.append(DocumentError(f"$.{name}", reason, f"write '{name}: {expected}'"))
    return value, faults


def read_plain(value: Mapping[str, object]) -> ReadConfiguration:
    """Read plain data whose header has been checked, and apply the defaults of spec 12.2.

    The defaults of eviction are applied elsewhere.
    """
    faults = Faults()
    body = {name: item for name, item in value.items() if name not in ("apiVersion", "kind")}
    configuration, given = read_struct(KubeletConfiguration, body, "$", faults)
    warnings = [
        DocumentError(f"$.{name}", reason, hint)
        for name, (reason, hint) in DEPRECATED_FIELDS.items()
        if value.get(name) is not None
    ]
    return ReadConfiguration(_with_cross_defaults(configuration, given), tuple(faults), tuple(warnings))


def _with_cross_defaults(configuration: KubeletConfiguration, given: frozenset[str]) -> KubeletConfiguration:
    changes: dict[str, object] = {}
    if "node_status_update_frequency" in given and "node_status_report_frequency" not in given:
        changes["node_status_report_frequency"] = configuration.node_status_update_frequency
    if "serialize_image_pulls" not in given and (configuration.max_parallel_image_pulls or 0) > 1:
        changes["serialize_image_pulls"] = False
    gates = choose_gates(configuration.feature_gates).gates
    back_off = configuration.crash_loop_back_off
    if back_off.max_container_restart_period is None and gates.enabled("KubeletCrashLoopBackOffMax"):
        changes["crash_loop_back_off"] = msgspec.structs.replace(
            back_off, max_container_restart_period=default_crash_loop_max_ns(gates)
        )
    if "image_pull_credentials_verification_policy" not in given and not gates.enabled(
        "KubeletEnsureSecretPulledImages"
    ):
        changes["image_pull_credentials_verification_policy"] = ""
    return msgspec.structs.replace(configuration, **changes) if changes else configuration


def default_configuration() -> KubeletConfiguration:
    """The configuration of a document with nothing but its header."""
    return read_plain({}).configuration


def legacy_configuration() -> KubeletConfiguration:
    """The configuration of a kubelet without any file (spec 12.1 Legacy).

    Authentication is open, the read-only port is on, and there are no thresholds.
    """
    base = default_configuration()
    replace = msgspec.structs.replace
    authentication = replace(
        base.authentication,
        anonymous=replace(base.authentication.anonymous, enabled=True),
        webhook=replace(base.authentication.webhook, enabled=False),
    )
    authorization = replace(base.authorization, mode="AlwaysAllow")
    return replace(base, authentication=authentication, authorization=authorization, read_only_port=10255)


def configuration_document(configuration: KubeletConfiguration) -> dict[str, object]:
    """The document as plain data, as the API writes it.

    It can be written as JSON, and reads back to an equal configuration.
    """
    return write_struct(configuration)
