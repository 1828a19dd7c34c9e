"""Whether the volumes of a pod can be meant: one source each, and what every source needs.

Pure; faults go to the `DocumentPlace`. Refuses to know which of them this node can mount, and what a static pod may
refer to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from config.documents.places import DocumentPlace
from config.objects import (
    CSIVolumeSource,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    KeyToPath,
    NFSVolumeSource,
    PodCertificateProjection,
    ProjectedVolumeSource,
    ServiceAccountTokenProjection,
    Volume,
    VolumeProjection,
)
from config.pods.volume_sources import VOLUME_SOURCES, json_name_of
from config.validation.containers import PULL_POLICIES, check_inner_path
from config.validation.fields import check_field_reference, check_resource_reference
from config.validation.resources import check_quantity
from config.values.name_rules import check, config_key, dns_label, dns_subdomain, is_host

_HOST_PATH_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")
_TOKEN_SECONDS_AT_LEAST = 600
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_MODE_AT_MOST = 0o777

_PROJECTIONS = {field.name: field.encode_name for field in msgspec.structs.fields(VolumeProjection)}


def check_volumes(place: DocumentPlace, volumes: Iterable[Volume]) -> None:
    """Every volume of the spec at `place`."""
    names: set[str] = set()
    for at, volume in place.items("volumes", volumes):
        if (at / "name").required(volume.name, "name the volume"):
            check(at / "name", dns_label(volume.name))
            if volume.name in names:
                (at / "name").fault(f"{volume.name!r} is the name of another volume", "choose another name")
            names.add(volume.name)
        given = [name for name in VOLUME_SOURCES if getattr(volume, name, None) is not None]
        if not given:
            at.fault("has no source", "add one, such as emptyDir: {}")
        for name in given[1:]:
            (at / json_name_of(name)).fault(f"cannot stand beside {json_name_of(given[0])}", "keep one source")
        for name in given:
            source = getattr(volume, name)
            below = at / json_name_of(name)
            check_required(below, source, VOLUME_SOURCES[name].required)
            rule = _RULES.get(name)
            if rule is not None:
                rule(below, source)


@lru_cache(maxsize=64)
def _json_names(kind: type[msgspec.Struct]) -> Mapping[str, str]:
    return {field.name: field.encode_name for field in msgspec.structs.fields(kind)}


def check_required(at: DocumentPlace, value: msgspec.Struct, names: Iterable[str]) -> None:
    """The attributes `names` of `value` must have values."""
    json_names = _json_names(type(value))
    for name in names:
        (at / json_names[name]).required(getattr(value, name))


def _check_mode(at: DocumentPlace, mode: int | None) -> None:
    if mode is not None and not 0 <= mode <= _MODE_AT_MOST:
        at.fault(f"must be between 0 and 0777, not {mode:#o}", "write three octal digits such as 0644")


def _check_items(at: DocumentPlace, items: Iterable[KeyToPath]) -> None:
    for place, item in at.items("items", items):
        if (place / "key").required(item.key):
            check(place / "key", config_key(item.key))
        _check_file_path(place / "path", item.path)
        _check_mode(place / "mode", item.mode)


def _check_file_path(at: DocumentPlace, path: str) -> None:
    check_inner_path(at, path)
    if path.startswith(".."):
        at.fault(f"{path!r} must not begin with ..", "choose another name")


def _check_files(at: DocumentPlace, files: Iterable[DownwardAPIVolumeFile]) -> None:
    for place, file in at.items("items", files):
        _check_file_path(place / "path", file.path)
        _check_mode(place / "mode", file.mode)
        if (file.field_ref is None) == (file.resource_field_ref is None):
            place.fault("must have one of fieldRef and resourceFieldRef", "keep one of them")
        if file.field_ref is not None:
            check_field_reference(place / "fieldRef", file.field_ref, environment=False)
        if file.resource_field_ref is not None:
            check_resource_reference(place / "resourceFieldRef", file.resource_field_ref, in_volume=True)


def _empty_dir(at: DocumentPlace, source: EmptyDirVolumeSource) -> None:
    medium = source.medium or ""
    if medium not in ("", "Memory") and not medium.startswith("HugePages"):
        (at / "medium").fault(f"{medium!r} is not supported", "use Memory, HugePages, or leave it out for disk")
    if source.size_limit is not None:
        check_quantity(at / "sizeLimit", source.size_limit)


def _host_path(at: DocumentPlace, source: HostPathVolumeSource) -> None:
    if ".." in source.path.split("/"):
        (at / "path").fault(f"{source.path!r} must not contain ..", "write the whole path")
    (at / "type").one_of(source.type, _HOST_PATH_TYPES)


def _keys(at: DocumentPlace, source: Any) -> None:
    _check_mode(at / "defaultMode", source.default_mode)
    _check_items(at, source.items)


def _downward(at: DocumentPlace, source: DownwardAPIVolumeSource) -> None:
    _check_mode(at / "defaultMode", source.default_mode)
    _check_files(at, source.items)


def _image(at: DocumentPlace, source: ImageVolumeSource) -> None:
    (at / "pullPolicy").one_of(source.pull_policy, PULL_POLICIES)


def _nfs(at: DocumentPlace, source: NFSVolumeSource) -> None:
    if source.server and not is_host(source.server):
        (at / "server").fault(f"{source.server!r} is not a host name or an address", "write it like nfs.example.org")
    if source.path and not source.path.startswith("/"):
        (at / "path").fault(f"{source.path!r} must be absolute", "begin it with /")


def _csi(at: DocumentPlace, source: CSIVolumeSource) -> None:
    if source.driver:
        check(at / "driver", dns_subdomain(source.driver.lower()))


def _ephemeral(at: DocumentPlace, source: EphemeralVolumeSource) -> None:
    template = source.volume_claim_template
    if (at / "volumeClaimTemplate").required(template) and template is not None:
        spec = at / "volumeClaimTemplate" / "spec"
        if spec.required(template.spec) and template.spec is not None:
            (spec / "accessModes").required(template.spec.access_modes)
            requests = template.spec.resources.requests if template.spec.resources is not None else {}
            storage = requests.get("storage")
            if (spec / "resources" / "requests" / "storage").required(storage) and storage is not None:
                check_quantity(spec / "resources" / "requests" / "storage", storage)


def _projected(at: DocumentPlace, source: ProjectedVolumeSource) -> None:
    _check_mode(at / "defaultMode", source.default_mode)
    paths: set[str] = set()
    for place, projection in at.items("sources", source.sources):
        given = [name for name in _PROJECTIONS if getattr(projection, name) is not None]
        if len(given) != 1:
            place.fault(f"must have one source, not {len(given)}", f"keep one of {', '.join(_PROJECTIONS.values())}")
        for path_at, path in _check_projection(place, projection):
            if path in paths:
                path_at.fault(f"{path!r} is written twice", "choose another path")
            paths.add(path)


def _check_projection(at: DocumentPlace, projection: VolumeProjection) -> list[tuple[DocumentPlace, str]]:
    """Check a projection. Returns the paths of its files, each with its place in the document."""
    written: list[tuple[DocumentPlace, str]] = []
    for field, keyed in (("secret", projection.secret), ("configMap", projection.config_map)):
        if keyed is not None:
            (at / field / "name").required(keyed.name)
            _check_items(at / field, keyed.items)
            written += [(place / "path", item.path) for place, item in (at / field).items("items", keyed.items)]
    if projection.downward_api is not None:
        files = projection.downward_api.items
        _check_files(at / "downwardAPI", files)
        written += [(place / "path", file.path) for place, file in (at / "downwardAPI").items("items", files)]
    if projection.service_account_token is not None:
        _check_token(at / "serviceAccountToken", projection.service_account_token)
        written.append((at / "serviceAccountToken" / "path", projection.service_account_token.path))
    bundle = projection.cluster_trust_bundle
    if bundle is not None:
        _check_file_path(at / "clusterTrustBundle" / "path", bundle.path)
        if bool(bundle.name) == bool(bundle.signer_name):
            (at / "clusterTrustBundle").fault("must have one of name and signerName", "keep one of them")
        written.append((at / "clusterTrustBundle" / "path", bundle.path))
    if projection.pod_certificate is not None:
        written += _check_pod_certificate(at / "podCertificate", projection.pod_certificate)
    return written


def _check_pod_certificate(at: DocumentPlace, certificate: PodCertificateProjection) -> list[tuple[DocumentPlace, str]]:
    """Check a pod certificate. Returns the paths of its files, each with its place in the document."""
    check_required(at, certificate, ("signer_name", "key_type"))
    if certificate.key_type and certificate.key_type not in _KEY_TYPES:
        (at / "keyType").fault(f"{certificate.key_type!r} is unknown", f"use one of {', '.join(_KEY_TYPES)}")
    paths = {
        "credentialBundlePath": certificate.credential_bundle_path,
        "keyPath": certificate.key_path,
        "certificateChainPath": certificate.certificate_chain_path,
    }
    written = [(at / name, path) for name, path in paths.items() if path]
    if not written:
        at.fault("writes no file", f"set one of {', '.join(paths)}")
    for place, path in written:
        _check_file_path(place, path)
    return written


def _check_token(at: DocumentPlace, token: ServiceAccountTokenProjection) -> None:
    _check_file_path(at / "path", token.path)
    seconds = token.expiration_seconds
    (at / "expirationSeconds").at_least(seconds, _TOKEN_SECONDS_AT_LEAST)
    if seconds is not None and seconds > 2**32:
        (at / "expirationSeconds").fault(f"must be at most {2**32}, not {seconds}")


_RULES: dict[str, Callable[[DocumentPlace, Any], None]] = {
    "config_map": _keys,
    "csi": _csi,
    "downward_api": _downward,
    "empty_dir": _empty_dir,
    "ephemeral": _ephemeral,
    "host_path": _host_path,
    "image": _image,
    "nfs": _nfs,
    "projected": _projected,
    "secret": _keys,
}
