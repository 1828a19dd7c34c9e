"""The configuration file and the drop-in directory as one document (spec 12.1).

Pure: names and bytes come in; one merged document and all faults come out. Each document is checked by itself, so a
fault names its file.
"""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from config.documents.codec import DocumentError
from config.kubelet.reading import read_bytes, read_plain
from config.patches.merge_patch import merge_patch

SUFFIX = ".conf"

PATH_FIELDS: tuple[tuple[str, ...], ...] = (
    ("staticPodPath",),
    ("authentication", "x509", "clientCAFile"),
    ("tlsCertFile",),
    ("tlsPrivateKeyFile",),
    ("resolvConf",),
    ("volumePluginDir",),
    ("podLogsDir",),
)
"""Fields whose relative path starts at the directory of the main file."""


@dataclass(frozen=True, slots=True)
class NamedBytes:
    """A file that was read: its path, for messages and relative paths, and its content."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class MergedDocuments:
    """One document made of all files.

    Faults and warnings begin with the name of their file; `skipped` files are no `.conf`.
    """

    document: Mapping[str, Any]
    faults: tuple[DocumentError, ...]
    warnings: tuple[DocumentError, ...]
    skipped: tuple[str, ...]


def merge_documents(file: NamedBytes | None, drop_ins: Iterable[NamedBytes] = ()) -> MergedDocuments:
    """Merge the main file, if any, and every drop-in in the order of their names.

    Later ones override earlier ones.

    Relative paths of the main file become absolute; those of drop-ins stay as they are (spec 12.1).
    """
    merged: Any = {}
    faults: list[DocumentError] = []
    warnings: list[DocumentError] = []
    skipped: list[str] = []
    ordered = sorted(drop_ins, key=lambda drop_in: drop_in.name.split("/"))
    for source in ([file] if file else []) + ordered:
        if source is not file and not source.name.endswith(SUFFIX):
            skipped.append(source.name)
            continue
        document, found = read_bytes(source.content)
        read = read_plain(document)
        faults += (_in_file(source.name, fault) for fault in (*found, *read.faults))
        warnings += (_in_file(source.name, warning) for warning in read.warnings)
        if source is file:
            document = with_absolute_paths(document, posixpath.dirname(source.name))
        merged = merge_patch(merged, document)
    return MergedDocuments(merged, tuple(faults), tuple(warnings), tuple(skipped))


def with_absolute_paths(document: Mapping[str, Any], directory: str) -> dict[str, Any]:
    """The document; relative paths in `PATH_FIELDS` are resolved from `directory`."""
    result = dict(document)
    for path in PATH_FIELDS:
        value: Any = result
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, str) and value and not value.startswith("/"):
            patch: Any = posixpath.normpath(posixpath.join(directory, value))
            for key in reversed(path):
                patch = {key: patch}
            result = merge_patch(result, patch)
    return result


def _in_file(name: str, fault: DocumentError) -> DocumentError:
    return DocumentError(f"{name}: {fault.path}", fault.reason, fault.hint)
