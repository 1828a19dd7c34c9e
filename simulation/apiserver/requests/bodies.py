"""The media types of bodies, and how a body is read.

Owns the parsing of text: what a document means is not known here. Raises StatusError (400, 415).
"""

from __future__ import annotations

from typing import Any

import msgspec

from config.caches import KIB, kept
from config.documents.codec import DocumentError
from config.documents.text import Document, read_documents
from simulation.apiserver.status import bad_request, unsupported_media_type

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
PATCH_TYPES = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
_AS_JSON = frozenset({JSON, "", "text/plain", *PATCH_TYPES})
BODY_BYTES_AT_MOST = 3 * 2**20
_decode = msgspec.json.Decoder().decode


@kept(32 * KIB)
def media_of(content_type: str) -> str:
    """The type alone, without its parameters, in small letters."""
    return content_type.partition(";")[0].strip().lower()


def read_body(body: bytes, content_type: str) -> Any:
    """Parse a body. Raises StatusError (400, 415)."""
    media = media_of(content_type)
    if media in (YAML, APPLY):
        document = _document(body)
        if document.faults:
            fault = document.faults[0]
            line = document.line_of(fault.path)
            where = "" if line is None else f"line {line}: "
            raise bad_request(f"error parsing the body of the request: {where}{fault}")
        return document.value
    if media == PROTOBUF:
        from simulation.apiserver.schemas.protobuf import read_protobuf

        return read_protobuf(body)
    if media not in _AS_JSON:
        raise unsupported_media_type((JSON, YAML, PROTOBUF))
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if not body.strip():
            raise bad_request("the body of the request is empty") from None
        raise bad_request(f"the object provided is unrecognized (must be of type JSON): {error}") from None


def repeated_keys(body: bytes, content_type: str) -> tuple[str, ...]:
    """What a strict decoder says of keys that the body has twice, in its order.

    Of each the last value counts.
    The body is one that `read_body` takes.
    """
    media = media_of(content_type)
    if media in (YAML, APPLY):
        document = _document(body)
        return tuple(
            f'line {document.line_of(each.path)}: key "{_key(each.path)}" already set in map'
            for each in document.repeated
        )
    if media not in _AS_JSON or len(msgspec.json.encode(_decode(body))) == len(body):
        return ()
    return tuple(f'duplicate field "{each.path.removeprefix("$.")}"' for each in _document(body).repeated)


def _document(body: bytes) -> Document:
    documents = read_documents(body)
    if len(documents) > 1:
        return Document(None, (DocumentError("$", f"it has {len(documents)} documents", "send one in a request"),))
    return documents[0] if documents else Document(None)


def _key(path: str) -> str:
    """The last step of a path as text."""
    if path.endswith('"]'):
        return str(msgspec.json.decode(path[path.rindex('["') + 1 : -1]))
    return path.rpartition(".")[2]
