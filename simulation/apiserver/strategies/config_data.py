"""ConfigMaps and Secrets: `stringData` becomes data, and keys are checked.

Immutable objects cannot change.
"""

from __future__ import annotations

import base64
import binascii

from config.values.name_rules import config_key
from simulation.apiserver.kinds.table import SECRETS, ServedResource
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json, bad_request, forbidden_field, invalid, invalid_value
from simulation.apiserver.strategies.metadata import nulls_as_texts
from simulation.apiserver.strategies.strategy import Strategy

BYTES_AT_MOST = 2**20
_MAPS_OF_TEXTS = ("data", "binaryData", "stringData")
_FIXED_WHEN_IMMUTABLE = ("data", "binaryData")


class DataStrategy(Strategy):
    def decode(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        for field in _MAPS_OF_TEXTS:
            if value.get(field):
                value[field] = nulls_as_texts(value[field])
        super().decode(call, before, value)
        if call.resource is SECRETS:
            _check_base64(value)

    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().default(call, before, value)
        if call.resource is SECRETS:
            _take_plain_text(value)

    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().prepare(call, before, value)
        if before is not None and before.get("type"):
            value["type"] = value.get("type") or before["type"]

    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        name = value["metadata"]["name"]
        if before is not None and before.get("type") and value["type"] != before["type"]:
            raise invalid(call.resource, name, [invalid_value("type", value["type"], "field is immutable")])
        _check(call.resource, name, value)
        if before is None or not before.get("immutable"):
            return
        changed = [field for field in _FIXED_WHEN_IMMUTABLE if (before.get(field) or {}) != (value.get(field) or {})]
        if not value.get("immutable"):
            changed.append("immutable")
        if changed:
            why = "field is immutable when `immutable` is set"
            raise invalid(call.resource, name, [forbidden_field(field, why) for field in changed])


def _check(resource: ServedResource, name: str, value: Json) -> None:
    """Raises StatusError (422)."""
    causes, total_bytes = [], 0
    for field in _FIXED_WHEN_IMMUTABLE:
        for key, content in (value.get(field) or {}).items():
            refusal = config_key(key)
            if refusal is not None:
                causes.append(invalid_value(f"{field}[{key}]", key, " ".join(refusal)))
            total_bytes += len(content)
    if total_bytes > BYTES_AT_MOST * 4 // 3:
        causes.append(("FieldValueTooLong", f"Too long: may not be more than {BYTES_AT_MOST} bytes", ""))
    if causes:
        raise invalid(resource, name, causes)


def _check_base64(value: Json) -> None:
    """Raises StatusError (400)."""
    for key, content in (value.get("data") or {}).items():
        try:
            base64.b64decode(content or "", validate=True)
        except (binascii.Error, ValueError, TypeError):
            text = f'Secret in version "v1" cannot be handled as a Secret: data.{key} is not base64'
            raise bad_request(text) from None


def _take_plain_text(value: Json) -> None:
    plain = value.pop("stringData", None)
    if plain:
        coded = {key: base64.b64encode(content.encode()).decode() for key, content in plain.items()}
        value["data"] = {**(value.get("data") or {}), **coded}
