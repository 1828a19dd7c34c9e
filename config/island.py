"""IslandConfiguration: what a node may start from memory while its API server is away. Pure.

It is decoded and checked here. It is a format of our own, in a file that `--island-config` names. A kubelet has nothing
like it. It is read strictly: an unknown field is a fault. Every fault has its place in the file.
"""

from __future__ import annotations

import msgspec

from config.credentials.kubeconfig_fields import Fields
from config.documents.codec import DocumentError
from config.documents.places import DocumentPlace
from config.documents.text import read_document
from config.values.durations import HOUR, DurationError, parse_duration_ns

KIND = "IslandConfiguration"
VERSION = "island.actorlet.dev/v1"
MAX_AGE_NS = HOUR
OMIT, WAIT = "Omit", "Wait"


class IslandSettings(msgspec.Struct, frozen=True):
    """What an island node does.

    `max_age_ns`: how long after the API server last agreed pods are started from memory. `keep_secrets`: whether
    Secrets are written to the disk, too. `omits_tokens`: whether a volume is made without its service account token,
    which nobody can issue; otherwise the pod waits for it.
    """

    max_age_ns: int = MAX_AGE_NS
    keep_secrets: bool = False
    omits_tokens: bool = True


def decode_island(content: bytes) -> IslandSettings:
    """The settings in a file. Raises DocumentError with every fault."""
    root = DocumentPlace()
    value, faults = read_document(content)
    root.faults.extend(faults)
    if not faults and value is None:
        root.fault("the document is empty", f"write a {KIND}")
    settings = IslandSettings() if root.faults else _settings(Fields(root, value))
    if root.faults:
        first, *others = root.faults
        raise DocumentError(first.path, first.reason, first.hint, tuple(others))
    return settings


def _settings(document: Fields) -> IslandSettings:
    place = document.place
    if place.faults:
        return IslandSettings()
    if document.text("apiVersion") != VERSION:
        (place / "apiVersion").fault("is not supported", f"write {VERSION}")
    if document.text("kind") != KIND:
        (place / "kind").fault(f"must be {KIND}")
    age_ns, tokens = _age_ns(place / "maxAge", document.text("maxAge")), document.text("tokens") or OMIT
    keep_secrets = document.flag("keepSecrets")
    if tokens not in (OMIT, WAIT):
        (place / "tokens").fault(f"{tokens!r} is unknown", f"write {OMIT} or {WAIT}")
    document.rest()
    place.faults.extend(DocumentError(each.path, "this field is unknown", each.hint) for each in document.warnings)
    return IslandSettings(age_ns, keep_secrets, tokens != WAIT)


def _age_ns(place: DocumentPlace, text: str) -> int:
    if not text:
        return MAX_AGE_NS
    try:
        age_ns = parse_duration_ns(text)
    except DurationError as error:
        place.fault(str(error), "write a duration such as 1h")
        return MAX_AGE_NS
    if age_ns <= 0:
        place.fault("must be greater than zero", "write a duration such as 1h")
    return age_ns
