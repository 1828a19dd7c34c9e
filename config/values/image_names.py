"""The image names that a container may have: `[registry/]path[:tag][@digest]`.

Also the tag of a name that has none.

Pure. The grammar is the one all container registries share. Nobody can pull a name that breaks it, so it is
refused before a runtime is asked. The reasons are in the words of a kubelet (spec 6.1).
"""

from __future__ import annotations

import re

DEFAULT_TAG = "latest"
NAME_LIMIT = 255

_COMPONENT = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*")
_DOMAIN = re.compile(
    r"(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*)"
    r"(?::[0-9]+)?"
)
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}")
_HEXADECIMAL = re.compile(r"[0-9a-f]+")
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_DOCKER, _LEGACY_DOCKER, _OFFICIAL = "docker.io", "index.docker.io", "library/"
_DEFAULT_REGISTRY = (f"{_LEGACY_DOCKER}/", f"{_DOCKER}/", _OFFICIAL)
_BARE_ID = re.compile(r"[0-9a-f]{64}")


class InvalidImageNameError(ValueError):
    """The text is no image name; the message says why."""


def with_default_tag(image: str) -> str:
    """`image` with `:latest` when it has neither tag nor digest. Raises InvalidImageNameError."""
    fault = _fault(image)
    if fault:
        raise InvalidImageNameError(fault)
    _, tag, digest = _split(image)
    return image if tag is not None or digest is not None else f"{image}:{DEFAULT_TAG}"


def is_latest(image: str) -> bool:
    """Whether the name means whatever is newest: tag `latest`, or neither tag nor digest."""
    _, tag, digest = _split(image)
    return digest is None and tag in (None, DEFAULT_TAG)


def short_form(image: str) -> str:
    """The end of the image's full name: with a tag or a digest, without the default registry.

    Any text will do: an id, and what is no image name, are their own short form.
    """
    name, tag, digest = _split(image)
    for prefix in _DEFAULT_REGISTRY:
        name = name.removeprefix(prefix)
    if digest is not None:
        return f"{name}@{digest}"  # a tag beside a digest says nothing
    if tag is not None or _BARE_ID.fullmatch(name):
        return image if tag is None else f"{name}:{tag}"
    return f"{name}:{DEFAULT_TAG}"


def _split(image: str) -> tuple[str, str | None, str | None]:
    """Name, tag and digest; those that are not there are None."""
    rest, at, digest = image.partition("@")
    head, slash, last = rest.rpartition("/")
    last, colon, tag = last.partition(":")
    return f"{head}{slash}{last}", tag if colon else None, digest if at else None


def _fault(image: str) -> str:
    """Why the text is no image name; empty if it is one."""
    if _BARE_ID.fullmatch(image):
        return f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings"
    domain, remainder = _domain_and_rest(image)
    repository = remainder.partition(":")[0]
    if repository.lower() != repository:
        return f"invalid reference format: repository name ({repository}) must be lowercase"
    path, tag, digest = _split(remainder)
    if not (
        _DOMAIN.fullmatch(domain)
        and all(map(_COMPONENT.fullmatch, path.split("/")))
        and (tag is None or _TAG.fullmatch(tag))
        and (digest is None or _DIGEST.fullmatch(digest))
    ):
        return "invalid reference format"
    if len(path) > NAME_LIMIT:
        return f"repository name must not be more than {NAME_LIMIT} characters"
    return "" if digest is None else _digest_fault(digest)


def _domain_and_rest(image: str) -> tuple[str, str]:
    """The registry, and the rest of the name.

    Without a registry in the text, both are as the default registry has them.
    """
    first, slash, rest = image.partition("/")
    names_one = "." in first or ":" in first or first == "localhost" or first != first.lower()
    domain, remainder = (first, rest) if slash and names_one else (_DOCKER, image)
    if domain in (_DOCKER, _LEGACY_DOCKER):
        return _DOCKER, remainder if "/" in remainder else f"{_OFFICIAL}{remainder}"
    return domain, remainder


def _digest_fault(digest: str) -> str:
    algorithm, _, encoded = digest.partition(":")
    if algorithm not in _DIGEST_LENGTHS:
        return "unsupported digest algorithm"
    if len(encoded) != _DIGEST_LENGTHS[algorithm]:
        return "invalid checksum digest length"
    return "" if _HEXADECIMAL.fullmatch(encoded) else "invalid checksum digest format"
