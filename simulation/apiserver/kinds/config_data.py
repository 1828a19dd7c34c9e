"""ConfigMaps and Secrets: plain text of a secret becomes data, and what is marked as immutable stays as it is."""

from __future__ import annotations

import base64
import binascii

from config.objects import ApiStruct, ConfigMap, Secret
from config.values.name_rules import config_key
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import Call
from simulation.apiserver.resources import CONFIG_MAPS, SECRETS, ServedResource
from simulation.apiserver.status import Json, bad_request, forbidden_field, invalid, invalid_value

BYTES_AT_MOST = 2**20
_FIXED_WHEN_IMMUTABLE = ("data", "binaryData")


class ConfigMapRules(KindRules):
    """See the module."""

    struct: type[ApiStruct] | None = ConfigMap
    resource: ServedResource = CONFIG_MAPS

    def prepare(self, call: Call, value: Json) -> None:
        self._check(value["metadata"]["name"], value)

    def change(self, call: Call, old: Json, new: Json) -> None:
        self._check(call.name, new)
        if not old.get("immutable"):
            return
        changed = [field for field in _FIXED_WHEN_IMMUTABLE if (old.get(field) or {}) != (new.get(field) or {})]
        if not new.get("immutable"):
            changed.append("immutable")
        if changed:
            why = "field is immutable when `immutable` is set"
            raise invalid(self.resource, call.name, [forbidden_field(field, why) for field in changed])

    def _check(self, name: str, value: Json) -> None:
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
            raise invalid(self.resource, name, causes)


class SecretRules(ConfigMapRules):
    """See the module."""

    struct: type[ApiStruct] | None = Secret
    resource: ServedResource = SECRETS

    def prepare(self, call: Call, value: Json) -> None:
        value["type"] = value.get("type") or "Opaque"
        _take_plain_text(value)
        super().prepare(call, value)

    def change(self, call: Call, old: Json, new: Json) -> None:
        new["type"] = new.get("type") or old["type"]
        if new["type"] != old["type"]:
            raise invalid(SECRETS, call.name, [invalid_value("type", new["type"], "field is immutable")])
        _take_plain_text(new)
        super().change(call, old, new)


def _take_plain_text(value: Json) -> None:
    for key, content in (value.get("data") or {}).items():
        try:
            base64.b64decode(content or "", validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise bad_request(
                f'Secret in version "v1" cannot be handled as a Secret: data.{key} is no base64'
            ) from None
    plain = value.pop("stringData", None)
    if plain:
        coded = {key: base64.b64encode(content.encode()).decode() for key, content in plain.items()}
        value["data"] = {**(value.get("data") or {}), **coded}
