"""Rules of volumes that no form of the data can say: a function each, as in `checks`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from config.values.quantity import QuantityError, parse_quantity
from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.seen import Check, Seen, field_of, registry
from simulation.apiserver.rules.spelling import path_inside

CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""
check = registry(CHECKS)


@check
def needs_affinity(seen: Seen) -> Iterator[Cause]:
    """A local volume is on one node."""
    assert seen.outer is not None
    if seen.value.get("path") and field_of(seen.outer.value, "nodeAffinity") is None:
        yield causes.required(seen.outer.join("nodeAffinity"), "Local volume requires node affinity")


@check
def size_limit(seen: Seen) -> Iterator[Cause]:
    if str(seen.value).startswith("-"):
        yield causes.forbidden(seen.path, "SizeLimit field must be a valid resource quantity")


@check
def long_portal(seen: Seen) -> Iterator[Cause]:
    assert seen.outer is not None
    name, portal = field_of(seen.outer.value, "name") or "", seen.value.get("targetPortal") or ""
    if seen.value.get("initiatorName") is not None and len(f"{name}:{portal}") > 64:
        why = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName "
            "is specified."
        )
        yield causes.invalid(seen.outer.join("name"), name, why)


@check
def two_datasets(seen: Seen) -> Iterator[Cause]:
    yield causes.invalid(seen.path, "resource", "datasetName and datasetUUID can not be specified simultaneously")


@check
def two_references(seen: Seen) -> Iterator[Cause]:
    yield causes.invalid(seen.path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")


@check
def hosts_and_ports(seen: Seen) -> Iterator[Cause]:
    assert seen.outer is not None
    if not seen.value:
        return
    if len(field_of(seen.outer.value, "tenant") or "") >= 65:
        why = "must be a UUID and may not exceed a length of 64 characters"
        yield causes.required(seen.outer.join("tenant"), why)
        return
    for pair in seen.value.split(","):
        host, colon, _ = pair.rpartition(":")
        if not colon or (":" in host and not (host.startswith("[") and host.endswith("]"))):
            why = "must be a host:port pair or multiple pairs separated by commas"
            yield causes.invalid(seen.path, seen.value, why)


_RESOURCES = tuple(
    f"{group}.{name}" for group in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_BYTES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_DIVISORS = {
    "cpu": ("1m, 1", "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (_BYTES, f"only divisor's values {_BYTES} are supported with the memory resource"),
    "ephemeral-storage": (
        _BYTES,
        f"only divisor's values {_BYTES} are supported with the local ephemeral storage resource",
    ),
}


@check
def resource_of_env(seen: Seen) -> Iterator[Cause]:
    yield from _resource(seen, False)


@check
def resource_of_volume(seen: Seen) -> Iterator[Cause]:
    yield from _resource(seen, True)


def _resource(seen: Seen, needs_container: bool) -> Iterator[Cause]:
    """An amount of a container, in units of a divisor."""
    name = seen.value.get("resource") or ""
    group, _, which = name.partition(".")
    is_huge = group in ("limits", "requests") and which.startswith("hugepages-")
    if needs_container and not seen.value.get("containerName"):
        yield causes.required(seen.join("containerName"))
    elif not name:
        yield causes.required(seen.join("resource"))
    elif name not in _RESOURCES and not is_huge:
        yield causes.not_supported(seen.join("resource"), name, _RESOURCES)
    known = (_BYTES, f"only divisor's values {_BYTES} are supported with the hugepages resource") if is_huge else None
    known = known or (_DIVISORS.get(which) if name in _RESOURCES else None)
    try:
        divisor = parse_quantity(str(seen.value.get("divisor") or "0"))
    except QuantityError:
        return
    if known is not None and not divisor.is_zero() and str(divisor) not in known[0].split(", "):
        yield causes.invalid(seen.join("divisor"), name, known[1])


@check
def flex_options(seen: Seen) -> Iterator[Cause]:
    for key in seen.value or {}:
        host = key.partition("/")[0].lower()
        if f".{host}".endswith((".kubernetes.io", ".k8s.io")):
            yield causes.invalid(f"{seen.path}[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved")


_MANAGED_DISKS = ("/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",)
_BLOBS = ("https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",)


@check
def azure_disk(seen: Seen) -> Iterator[Cause]:
    kind, uri = seen.value.get("kind"), seen.value.get("diskURI") or ""
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield causes.not_supported(seen.join("diskURI"), uri, _MANAGED_DISKS)
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        yield causes.not_supported(seen.join("diskURI"), uri, _BLOBS)


_OF_TEMPLATES = ("labels", "annotations")


@check
def template_metadata(seen: Seen) -> Iterator[Cause]:
    """Upstream calls the place of a field that it does not take the template."""
    assert seen.outer is not None
    for name, value in (seen.value or {}).items():
        if name not in _OF_TEMPLATES and value not in (None, "", [], {}):
            yield causes.forbidden(seen.join(name), "cannot be set")


# --- several sources in one volume ----------------------------------------------------------------------------------

_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_PROJECTED = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
_PATHS_OF_CERTIFICATES = ("credentialBundlePath", "keyPath", "certificateChainPath")


@check
def token_projection(seen: Seen) -> Iterator[Cause]:
    """Upstream calls the place of its path that of the volume."""
    seconds, path = seen.value.get("expirationSeconds") or 0, seen.value.get("path") or ""
    place = seen.path.rpartition(".sources")[0]
    if seconds < 600:
        why = "may not specify a duration less than 10 minutes"
        yield causes.invalid(seen.join("expirationSeconds"), seconds, why)
    if seconds > 2**32:
        why = "may not specify a duration larger than 2^32 seconds"
        yield causes.invalid(seen.join("expirationSeconds"), seconds, why)
    if not path:
        yield causes.required(f"{place}.path")
    yield from (causes.invalid(f"{place}.path", path, why) for why in path_inside(path))


@check
def certificate_paths(seen: Seen) -> Iterator[Cause]:
    there = [name for name in _PATHS_OF_CERTIFICATES if seen.value.get(name)]
    for name in there:
        text = seen.value[name]
        yield from (causes.invalid(seen.join(name), text, why) for why in path_inside(text))
    if not there:
        why = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        yield causes.required(seen.path, why)


@check
def one_projection(seen: Seen) -> Iterator[Cause]:
    if sum(seen.value.get(name) is not None for name in _PROJECTED) > 1:
        yield causes.forbidden(seen.path, "may not specify more than 1 volume type per source")


@check
def paths_twice(seen: Seen) -> Iterator[Cause]:
    """Two sources may not fill one path of the volume."""
    known: set[str] = set()
    for source in seen.value.get("sources") or ():
        for path, shown in _paths(source):
            if path in known:
                yield causes.invalid(seen.path, shown, "conflicting duplicate paths")
            known.add(path)


def _paths(source: Any) -> Iterator[tuple[str, str]]:
    """The paths that a source fills, with what upstream shows of it."""
    for name in ("secret", "configMap", "downwardAPI"):
        part = source.get(name) or {}
        for item in part.get("items") or ():
            if item.get("path"):
                yield item["path"], item["path"] if name == "downwardAPI" else part.get("name") or ""
    if source.get("clusterTrustBundle") is not None:
        path = source["clusterTrustBundle"].get("path") or ""
        yield path, path
    for name in _PATHS_OF_CERTIFICATES:
        path = (source.get("podCertificate") or {}).get(name)
        if path:
            yield path, path


@check
def trust_bundle(seen: Seen) -> Iterator[Cause]:
    """Bundles by their name, or all of a signer."""
    name, signer, path = (seen.value.get(each) for each in ("name", "signerName", "path"))
    if name is not None and signer is not None:
        yield causes.invalid(seen.path, seen.value, "only one of name and signerName may be used")
    elif name is not None:
        if not name:
            yield causes.required(seen.join("name"), "must be a valid object name")
        if seen.value.get("labelSelector") is not None:
            why = "labelSelector must be unset if name is specified"
            yield causes.invalid(seen.join("labelSelector"), seen.value["labelSelector"], why)
    elif signer is None:
        yield causes.required(seen.path, "either name or signerName must be specified")
    elif not signer:
        yield causes.required(seen.join("signerName"), "must be a valid signer name")
    if not path:
        yield causes.required(seen.join("path"))
    yield from (causes.invalid(seen.join("path"), path, why) for why in path_inside(path or ""))


@check
def certificate_of_pod(seen: Seen) -> Iterator[Cause]:
    kind, seconds = seen.value.get("keyType") or "", seen.value.get("maxExpirationSeconds")
    if kind not in _KEY_TYPES:
        yield causes.not_supported(seen.join("keyType"), kind, _KEY_TYPES)
    host = (seen.value.get("signerName") or "").partition("/")[0]
    most = 86400 if host == "kubernetes.io" or host.endswith(".kubernetes.io") else 7862400
    if seconds is not None and seconds < 3600:
        why = "if provided, maxExpirationSeconds must be >= 3600"
        yield causes.invalid(seen.join("maxExpirationSeconds"), seconds, why)
    if seconds is not None and seconds > most:
        why = f"if provided, maxExpirationSeconds must be <= {most}"
        yield causes.invalid(seen.join("maxExpirationSeconds"), seconds, why)
