"""Reads from the sources of Kubernetes what no published document says.

Go leaves a field out of JSON that has its zero value (`omitempty`), unless the field is a pointer. So `hostNetwork:
false` is not there in an answer, and `automountServiceAccountToken: false` is. Without `omitempty` a list that nobody
has set is null, such as the `rules` of a ClusterRole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
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
_COLLECTION = re.compile(r'^\s+\w+\s+(?:\[\]|map\[)\S+\s+`json:"(\w+)"', re.MULTILINE)
_STRUCTS = re.compile(r".*\b(MicroTime|Time|Duration|Quantity|IntOrString|RawExtension|JSON)")
_INLINE = re.compile(r'^\s+(\w+)\s+`json:",inline"', re.MULTILINE)


def left_out_fields(kubernetes: Path) -> dict[str, set[str]]:
    """Type -> the fields that Go leaves out if they have their zero value.

    Lists and maps are not among them.
    """
    # A struct is never left out, and of a time that is empty text a server says that it is none.
    return {
        name: {field for kind, field in _FIELD.findall(body) if kind not in structs and not _STRUCTS.fullmatch(kind)}
        for name, body, structs in _types(kubernetes)
    }


def written_lists(kubernetes: Path) -> dict[str, set[str]]:
    """Type -> the lists and maps that Go writes although they are empty."""
    return {name: set(_COLLECTION.findall(body)) for name, body, _ in _types(kubernetes)}


def _types(kubernetes: Path) -> Iterator[tuple[str, str, Collection[str]]]:
    """Each struct: its name, its body with those of the inlined ones, and all structs of its package."""
    for folder, beginning in PACKAGES.items():
        place = kubernetes / "staging/src/k8s.io" / folder
        for version in sorted({file.parent for file in place.glob("**/types*.go")}):
            name = ".".join((beginning, *version.relative_to(place).parts)).strip(".")
            text = "\n".join(file.read_text() for file in sorted(version.glob("types*.go")))
            bodies: Mapping[str, str] = dict(_STRUCT.findall(text))
            for struct, body in bodies.items():
                inner = [bodies[other] for other in _INLINE.findall(body) if other in bodies]
                yield f"{name}.{struct}", "\n".join((body, *inner)), bodies.keys()
