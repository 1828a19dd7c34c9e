"""The types of built-in kinds as Kubernetes writes them in protobuf: numbers and types of all fields.

`message_kinds.json` names the message of each kind, `messages.json` has its fields. `[]T` is a list, `{}T` a map; the
fields of a message marked `+` stand in JSON beside those around it. Pure.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

_DEFINED = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
SCHEMA = f"{_DEFINED}JSONSchemaProps"
SCHEMA_OR = {f"{SCHEMA}OrArray": "jSONSchemas", f"{SCHEMA}OrBool": "allows", f"{SCHEMA}OrStringArray": "property"}
"""Messages that are a schema in JSON, or else the value of this field."""
ANY_JSON = frozenset(
    {
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        f"{_DEFINED}JSON",
    }
)
"""Messages with one field, the bytes of any JSON."""
Types = dict[str, dict[str, tuple[int, str]]]


@cache
def messages() -> Types:
    """Message -> field -> its number and type."""
    return msgspec.json.decode(Path(__file__).with_name("messages.json").read_bytes(), type=Types)


@cache
def message_kinds() -> dict[str, str]:
    """`apps/v1/Deployment` -> the name of its message."""
    return msgspec.json.decode(Path(__file__).with_name("message_kinds.json").read_bytes(), type=dict[str, str])
