"""In which form an answer is wanted: as the objects are, as a table, as metadata alone; JSON or YAML. Pure.

Owns the reading of Accept headers. Protobuf is never spoken: who prefers it gets JSON, if it takes that, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import msgspec
import yaml

from simulation.apiserver.requests import Answer, ListAnswer, ObjectAnswer, TextAnswer, line_of
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, StatusError
from simulation.apiserver.store import Version
from simulation.apiserver.tables import partial_metadata, table_of


class Shape(Enum):
    """What is shown of objects."""

    WHOLE = "whole"
    TABLE = "table"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class Form:
    """How an answer is written."""

    shape: Shape = Shape.WHOLE
    yaml: bool = False

    @property
    def content_type(self) -> str:
        return "application/yaml" if self.yaml else "application/json"


PLAIN = Form()


@lru_cache(maxsize=256)
def form_of(accept: str) -> Form:
    """The first form of an Accept header that can be given. Raises StatusError (406)."""
    if not accept:
        return PLAIN
    for choice in accept.split(","):
        media, *rest = (part.strip() for part in choice.split(";"))
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        if media not in ("application/json", "application/yaml", "*/*", "application/*"):
            continue
        shape = _SHAPES.get(parameters.get("as", ""))
        if shape is None or (shape is not Shape.WHOLE and parameters.get("v") not in ("v1", "v1beta1")):
            continue
        return Form(shape, media == "application/yaml")
    types = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    text = f"only the following media types are accepted: {types}"
    raise StatusError(406, "NotAcceptable", text)


_SHAPES = {
    "": Shape.WHOLE,
    "Table": Shape.TABLE,
    "PartialObjectMetadata": Shape.METADATA,
    "PartialObjectMetadataList": Shape.METADATA,
}


def written(answer: Answer, form: Form, *, wall_ns: int, include_object: str) -> bytes:
    """The body of an answer in that form."""
    if form.shape is Shape.TABLE and isinstance(answer, ListAnswer | ObjectAnswer):
        metadata = answer.metadata() if isinstance(answer, ListAnswer) else None
        objects = [version.object for version in _versions(answer)]
        table = table_of(
            answer.resource, objects, wall_ns=wall_ns, include_object=include_object, list_metadata=metadata
        )
        body = msgspec.json.encode(table)
    elif form.shape is Shape.METADATA and isinstance(answer, ListAnswer | ObjectAnswer):
        body = msgspec.json.encode(_metadata_of(answer))
    else:
        body = answer.body()  # type: ignore[union-attr]  # watches and nodes' answers have other ways
    return (
        yaml.safe_dump(msgspec.json.decode(body), sort_keys=False).encode()
        if form.yaml and not isinstance(answer, TextAnswer)
        else body
    )


class Lines:
    """The lines of one watch in that form."""

    def __init__(self, resource: ServedResource, form: Form, wall_ns: Callable[[], int], include_object: str) -> None:
        self._resource = resource
        self._form = form
        self._wall_ns = wall_ns
        self._include_object = include_object
        self._first = True

    def line(self, kind: str, version: Version) -> bytes:
        """One event."""
        if self._form.shape is Shape.WHOLE:
            return line_of(kind, version)
        if self._form.shape is Shape.METADATA:
            shown = partial_metadata(version.object)
        else:
            shown = table_of(
                self._resource,
                [version.object],
                wall_ns=self._wall_ns(),
                include_object=self._include_object,
                with_columns=self._first,
            )
            self._first = False
        return msgspec.json.encode({"type": kind, "object": shown}) + b"\n"


def _versions(answer: ListAnswer | ObjectAnswer) -> tuple[Version, ...]:
    return answer.versions if isinstance(answer, ListAnswer) else (answer.version,)


def _metadata_of(answer: ListAnswer | ObjectAnswer) -> Json:
    if isinstance(answer, ObjectAnswer):
        return partial_metadata(answer.version.object)
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": answer.metadata(),
        "items": [partial_metadata(version.object) for version in answer.versions],
    }
