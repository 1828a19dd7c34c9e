"""Reads from the sources of Kubernetes what no published document says.

Go leaves a field out of JSON that has its zero value (`omitempty`), unless the field is a pointer. So `hostNetwork:
false` is not there in an answer, and `automountServiceAccountToken: false` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGES = {
    "api": "",
    "apimachinery/pkg/apis/meta": "meta",
    "apiextensions-apiserver/pkg/apis/apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "kube-aggregator/pkg/apis/apiregistration": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}
"""Folder below `staging/src/k8s.io` -> the beginning of the names of its types in `fields/types.json`."""
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\s+\w+\s+([^\s*\[{]+)\s+`json:"(\w+),omitempty"', re.MULTILINE)
_STRUCTS = re.compile(r".*\b(MicroTime|Time|Duration|Quantity|IntOrString|RawExtension|JSON)")
_INLINE = re.compile(r'^\s+(\w+)\s+`json:",inline"', re.MULTILINE)


def left_out_fields(kubernetes: Path) -> dict[str, set[str]]:
    """Type -> the fields that Go leaves out if they have their zero value.

    Lists and maps are not among them.
    """
    found: dict[str, set[str]] = {}
    for folder, beginning in PACKAGES.items():
        place = kubernetes / "staging/src/k8s.io" / folder
        for version in sorted({file.parent for file in place.glob("**/types*.go")}):
            name = ".".join((beginning, *version.relative_to(place).parts)).strip(".")
            text = "\n".join(file.read_text() for file in sorted(version.glob("types*.go")))
            found |= {f"{name}.{struct}": set(fields) for struct, fields in _structs(text)}
    return found


def _structs(text: str) -> Iterator[tuple[str, set[str]]]:
    bodies: Mapping[str, str] = dict(_STRUCT.findall(text))
    for name, body in bodies.items():
        inner = [bodies[other] for other in _INLINE.findall(body) if other in bodies]
        found = [pair for part in (body, *inner) for pair in _FIELD.findall(part)]
        # A struct is never left out, and of a time that is empty text a server says that it is none.
        yield name, {field for kind, field in found if kind not in bodies and not _STRUCTS.fullmatch(kind)}
