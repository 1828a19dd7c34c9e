"""What may stand in a container's `image`: `[registry/]path[:tag][@digest]`, and the tag it has when it names none.

Pure. The grammar is the one all container registries share. A name that does not keep it cannot be pulled by anybody,
so it is refused before a runtime is asked, with the part that is wrong (spec 6.1).
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
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_DEFAULT_REGISTRY = ("index.docker.io/", "docker.io/", "library/")
_BARE_ID = re.compile(r"[0-9a-f]{64}")


class InvalidImageNameError(ValueError):
    """The text is no image name; the message says which part of it is wrong."""


def with_default_tag(image: str) -> str:
    """`image` with `:latest` when it has neither tag nor digest. Raises InvalidImageNameError."""
    name, tag, digest = _split(image)
    _check_name(name)
    if tag is not None and not _TAG.fullmatch(tag):
        raise InvalidImageNameError(f"the tag {tag!r} may have letters, digits, '_', '.' and '-', at most 128 of them")
    if digest is not None:
        _check_digest(digest)
    return image if tag is not None or digest is not None else f"{image}:{DEFAULT_TAG}"


def is_latest(image: str) -> bool:
    """Whether the name means whatever is newest: tag `latest`, or neither tag nor digest."""
    _, tag, digest = _split(image)
    return digest is None and tag in (None, DEFAULT_TAG)


def short_form(image: str) -> str:
    """How the name of an image ends wherever it stands in full: with a tag or a digest, without the default registry.

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


def _check_name(name: str) -> None:
    if not name:
        raise InvalidImageNameError("it has no name")
    if len(name) > NAME_LIMIT:
        raise InvalidImageNameError(f"the name is longer than {NAME_LIMIT} characters")
    if _BARE_ID.fullmatch(name):
        raise InvalidImageNameError("a name of 64 hexadecimal digits would be taken for an image id")
    first, slash, others = name.partition("/")
    path = name
    # The first part is a registry only when it cannot be the beginning of a path.
    if slash and ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        if not _DOMAIN.fullmatch(first):
            raise InvalidImageNameError(f"{first!r} is no name of a registry")
        path = others
    for part in path.split("/"):
        if not _COMPONENT.fullmatch(part):
            hint = "; it must be in lower case" if part != part.lower() and _COMPONENT.fullmatch(part.lower()) else ""
            raise InvalidImageNameError(f"the part {part!r} is not allowed{hint}")


def _check_digest(digest: str) -> None:
    good = _SHA256.fullmatch(digest) if digest.startswith("sha256:") else _DIGEST.fullmatch(digest)
    if not good:
        raise InvalidImageNameError(f"{digest!r} is no digest such as sha256: and 64 hexadecimal digits")
