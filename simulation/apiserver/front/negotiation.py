"""The shape of an answer, from the Accept header: whole objects, a table, or metadata alone. Pure.

Answers are JSON. Clients that prefer protobuf or YAML get JSON if the header allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import msgspec

from config.caches import KIB, kept
from simulation.apiserver.documents.tables import META, partial_metadata, table_of
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.answers import Body, JsonAnswer, ListAnswer, ObjectAnswer, line_of
from simulation.apiserver.requests.bodies import JSON
from simulation.apiserver.status import Json, StatusError, bad_request
from simulation.apiserver.store.store import Version

META_GROUP = META.partition("/")[0]
INCLUDED = ("", "None", "Metadata", "Object")


class Shape(Enum):
    """The shape of objects in an answer."""

    WHOLE = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


_SHAPES = {shape.value: shape for shape in Shape}


@kept(64 * KIB)
def shape_of(accept: str) -> Shape:
    """The first supported shape of an Accept header. Raises StatusError (406)."""
    for choice in accept.split(",") if accept else (JSON,):
        media, *rest = (part.strip() for part in choice.split(";"))
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        wanted = parameters.get("as", "").removesuffix("List")
        group = parameters.get("g", META_GROUP)
        known = wanted == "" or (parameters.get("v") in ("v1", "v1beta1") and group == META_GROUP)
        if media in (JSON, "*/*", "application/*") and known and wanted in _SHAPES:
            return _SHAPES[wanted]
    text = "only the following media types are accepted: application/json"
    raise StatusError(406, "NotAcceptable", text)


_ACCEPTED = (
    "only the following media types are accepted: application/json, application/yaml,"
    " application/vnd.kubernetes.protobuf"
)


def check_included(shape: Shape, include_object: str) -> None:
    """What a table shows of its objects. Raises StatusError (400)."""
    if shape is Shape.TABLE and include_object not in INCLUDED:
        why = f"includeObject: Invalid value: \"{include_object}\": must be 'Metadata', 'Object', 'None', or empty"
        raise bad_request(f"Unable to convert to Table as requested: {why}")


def written(answer: Body, shape: Shape, *, wall_ns: int, include_object: str) -> bytes:
    """The body of an answer in that shape. Raises StatusError (406): there is no table of a review."""
    if shape is Shape.TABLE and isinstance(answer, JsonAnswer) and answer.value.get("kind") != "Status":
        raise StatusError(406, "NotAcceptable", _ACCEPTED)
    if shape is Shape.WHOLE or not isinstance(answer, ListAnswer | ObjectAnswer):
        return answer.body()
    metadata = answer.metadata() if isinstance(answer, ListAnswer) else None
    versions = answer.versions if isinstance(answer, ListAnswer) else (answer.version,)
    objects = [version.whole() for version in versions]
    if shape is Shape.TABLE:
        shown: Json = table_of(
            answer.resource, objects, wall_ns=wall_ns, include_object=include_object, list_metadata=metadata
        )
    elif metadata is None:
        shown = partial_metadata(objects[0])
    else:
        items = [partial_metadata(each) for each in objects]
        shown = {"kind": "PartialObjectMetadataList", "apiVersion": META, "metadata": metadata, "items": items}
    return msgspec.json.encode(shown)


class Lines:
    """The lines of one watch in that shape."""

    def __init__(self, resource: ServedResource, shape: Shape, wall_ns: Callable[[], int], include_object: str) -> None:
        self._resource = resource
        self._shape = shape
        self._wall_ns = wall_ns
        self._include_object = include_object
        self._is_first = True

    def line(self, kind: str, version: Version) -> bytes:
        """One event of a watch, encoded."""
        if self._shape is Shape.WHOLE:
            return line_of(kind, version)
        value = version.whole()
        shown = partial_metadata(value)
        if self._shape is Shape.TABLE:
            shown = table_of(
                self._resource,
                [value],
                wall_ns=self._wall_ns(),
                include_object=self._include_object,
                with_columns=self._is_first,
            )
            self._is_first = False
        return msgspec.json.encode({"type": kind, "object": shown}) + b"\n"
