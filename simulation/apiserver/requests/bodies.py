"""The media types of bodies, and how a body is read.

Owns the parsing of text: what a document means is not known here. Raises StatusError (400, 415).
"""

from __future__ import annotations

from typing import Any

import msgspec

from config.caches import KIB, kept
from config.documents.text import read_document
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
        value, faults = read_document(body)
        if faults:
            raise bad_request(f"error parsing the body of the request: {faults[0]}")
        return value
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
