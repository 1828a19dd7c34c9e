"""ConfigMaps and Secrets: `stringData` becomes data, and keys are checked.

Immutable objects cannot change.
"""

from __future__ import annotations

import base64
import binascii

from config.values.name_rules import config_key
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.resources import SECRETS, ServedResource
from simulation.apiserver.status import Json, bad_request, forbidden_field, invalid, invalid_value

BYTES_AT_MOST = 2**20
_FIXED_WHEN_IMMUTABLE = ("data", "binaryData")


class DataRules(KindRules):
    def prepare(self, call: ResourceCall, value: Json) -> None:
        super().prepare(call, value)
        _check(call.resource, value["metadata"]["name"], value)

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        if old.get("type"):
            new["type"] = new.get("type") or old["type"]
            if new["type"] != old["type"]:
                raise invalid(call.resource, call.name, [invalid_value("type", new["type"], "field is immutable")])
        _check(call.resource, call.name, new)
        if not old.get("immutable"):
            return
        changed = [field for field in _FIXED_WHEN_IMMUTABLE if (old.get(field) or {}) != (new.get(field) or {})]
        if not new.get("immutable"):
            changed.append("immutable")
        if changed:
            why = "field is immutable when `immutable` is set"
            raise invalid(call.resource, call.name, [forbidden_field(field, why) for field in changed])


def _check(resource: ServedResource, name: str, value: Json) -> None:
    """Raises StatusError."""
    if resource is SECRETS:
        _take_plain_text(value)
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


def _take_plain_text(value: Json) -> None:
    for key, content in (value.get("data") or {}).items():
        try:
            base64.b64decode(content or "", validate=True)
        except (binascii.Error, ValueError, TypeError):
            text = f'Secret in version "v1" cannot be handled as a Secret: data.{key} is not base64'
            raise bad_request(text) from None
    plain = value.pop("stringData", None)
    if plain:
        coded = {key: base64.b64encode(content.encode()).decode() for key, content in plain.items()}
        value["data"] = {**(value.get("data") or {}), **coded}
