"""ConfigMaps and Secrets: nulls are empty texts, and `stringData` becomes data.

`rules.data_checks` has their rules.
"""

from __future__ import annotations

import base64
import binascii

from simulation.apiserver.kinds.table import SECRETS
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json, bad_request
from simulation.apiserver.strategies.metadata import nulls_as_texts
from simulation.apiserver.strategies.strategy import Strategy

_MAPS_OF_TEXTS = ("data", "binaryData", "stringData")


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
