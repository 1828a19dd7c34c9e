"""Registry credentials in Docker's two formats, and which of them fit an image (spec 6.3). Pure.

`.dockercfg` is a map of registries, `.dockerconfigjson` (the `config.json` of the docker client) has that map under
`auths`. A key is a registry with or without scheme and path, each label of its host may be a pattern (`*.example.com`).
What is most specific is tried first. An image without a registry is one of Docker Hub, whose key is `index.docker.io`.

Reading fails with `DockerConfigError`; looking up never does. Nothing here shows a password in its repr or its errors.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

DEFAULT_REGISTRY = "docker.io"
DEFAULT_REGISTRY_KEY = "index.docker.io"

DOCKERCFG = ("kubernetes.io/dockercfg", ".dockercfg")
DOCKER_CONFIG_JSON = ("kubernetes.io/dockerconfigjson", ".dockerconfigjson")
"""Type of a secret, and the key of its data that holds the document."""


class DockerConfigError(ValueError):
    """The document cannot be used; the message has the place and no value of it."""


class Credential(msgspec.Struct, frozen=True):
    """A registry credential: a name and a password, or a token. Secret: never logged."""

    username: str = ""
    password: str = ""
    identity_token: str = ""
    registry_token: str = ""

    def __repr__(self) -> str:
        """A repr ends in logs and traces."""
        return "Credential(...)"


class RegistryEntry(msgspec.Struct, frozen=True):
    """One entry of a document: the registry as written there, and its credential."""

    registry: str
    credential: Credential


Entries = tuple[RegistryEntry, ...]


# --- reading --------------------------------------------------------------------------------------------------------


def read_docker_config_json(document: bytes) -> Entries:
    """Read a `.dockerconfigjson`. Raises DockerConfigError."""
    value = _map(_json(document), "$")
    auths = value.get("auths")
    return () if auths is None else _entries(auths, "$.auths")


def read_dockercfg(document: bytes) -> Entries:
    """Read a `.dockercfg`. Raises DockerConfigError."""
    return _entries(_json(document), "$")


def read_secret(secret_type: str, data: Mapping[str, bytes]) -> Entries:
    """Read the data of a pull secret.

    A secret of another type, or without the key, has no credentials. Raises DockerConfigError.
    """
    for known, reader in ((DOCKER_CONFIG_JSON, read_docker_config_json), (DOCKERCFG, read_dockercfg)):
        kind, key = known
        if secret_type == kind and data.get(key):
            return reader(data[key])
    return ()


def _json(document: bytes) -> Any:
    try:
        return msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeDecodeError) as failure:
        raise DockerConfigError(f"$: it is not JSON: {failure}") from None
    except RecursionError:
        raise DockerConfigError("$: it is nested too deeply") from None


def _map(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DockerConfigError(f"{path}: must be a map")
    return value


def _entries(value: Any, path: str) -> Entries:
    entries = []
    for registry, fields in _map(value, path).items():
        credential = _credential(_map(fields, f"{path}[{registry!r}]"), f"{path}[{registry!r}]")
        if credential != Credential():  # the docker client leaves empty entries for what a helper keeps elsewhere
            entries.append(RegistryEntry(registry, credential))
    return tuple(entries)


def _credential(fields: dict[str, Any], path: str) -> Credential:
    def text(name: str) -> str:
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            raise DockerConfigError(f"{path}.{name}: must be a string")
        return value or ""

    username, password = text("username"), text("password")
    if text("auth"):
        username, password = _name_and_password(text("auth"), f"{path}.auth")
    return Credential(username, password, text("identitytoken"), text("registrytoken"))


def _name_and_password(auth: str, path: str) -> tuple[str, str]:
    """`auth` is the base64 of `name:password`, padded or not."""
    try:
        text = base64.b64decode(auth.rstrip("=") + "=" * (-len(auth.rstrip("=")) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        raise DockerConfigError(f"{path}: must be the base64 of name:password") from None
    name, colon, password = text.partition(":")
    if not colon:
        raise DockerConfigError(f"{path}: must be the base64 of name:password")
    return name, password.rstrip("\0")


# --- looking up -----------------------------------------------------------------------------------------------------


def credentials_for(image: str, *documents: Iterable[RegistryEntry]) -> tuple[Credential, ...]:
    """The credentials for `image` (any form of its name), in the order of trying.

    The entries of one document, or of all pull secrets of a pod, form one ring. Within a ring the most specific entry
    comes first. Rings follow each other in the given order. No credential appears twice.
    """
    name = full_name(image)
    found: dict[Credential, None] = {}
    for entries in documents:
        found.update(dict.fromkeys(_matching(name, entries)))
    return tuple(found)


def _matching(name: str, entries: Iterable[RegistryEntry]) -> list[Credential]:
    ring: dict[str, list[Credential]] = {}
    for entry in entries:
        ring.setdefault(registry_key(entry.registry), []).append(entry.credential)
    found = [each for key in sorted(ring, reverse=True) if matches(key, name) for each in ring[key]]
    if not found and name.partition("/")[0] == DEFAULT_REGISTRY:
        return ring.get(DEFAULT_REGISTRY_KEY, [])
    return found


def registry_key(registry: str) -> str:
    """The host, port and path: `https://index.docker.io/v1/` -> `index.docker.io`.

    Without scheme and API version.
    """
    without_scheme = re.sub(r"^https?://", "", registry)
    host, slash, path = without_scheme.partition("/")
    path = re.sub(r"^v[12]/", "", path) if slash else ""
    return f"{host}/{path}" if path else host


def matches(key: str, name: str) -> bool:
    """Whether credentials under `key` are for the image `name`.

    They are when the port is the same, the host has as many labels, and the image lies below the path.
    """
    key_host, _, key_path = key.partition("/")
    host, _, path = name.partition("/")
    key_labels, key_port = _labels(key_host)
    labels, port = _labels(host)
    return (
        key_port == port
        and len(key_labels) == len(labels)
        and path.startswith(key_path)
        and all(fnmatch.fnmatchcase(label, pattern) for label, pattern in zip(labels, key_labels, strict=True))
    )


def _labels(host: str) -> tuple[list[str], str]:
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        return host.split("."), ""
    return name.split("."), port


def full_name(image: str) -> str:
    """The image with its registry, without tag and digest: `nginx:1` -> `docker.io/library/nginx`."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    name = f"{head}{slash}{last.partition(':')[0]}"
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        return f"{DEFAULT_REGISTRY}/{rest}" if first == DEFAULT_REGISTRY_KEY else name
    return f"{DEFAULT_REGISTRY}/{name}" if slash else f"{DEFAULT_REGISTRY}/library/{name}"
