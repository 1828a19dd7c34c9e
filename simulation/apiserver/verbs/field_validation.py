"""Fields that a kind does not have: ignored, warned of, or refused, as the request asks (`fieldValidation`)."""

from __future__ import annotations

from collections.abc import Sequence

from config.documents.codec import unknown_fields
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import Call
from simulation.apiserver.status import Json, bad_request

_DIRECTIVES = ("Ignore", "Warn", "Strict")


def check_fields(call: Call, rules: KindRules, value: Json) -> None:
    """Checks the types of all known fields, too. Raises StatusError (400)."""
    if call.query and (directive := call.query.get("fieldValidation", "Warn")) not in _DIRECTIVES:
        raise bad_request(f'fieldValidation: Unsupported value: "{directive}": supported values: Ignore, Strict, Warn')
    read = rules.read(call.resource, value)
    if getattr(read, "unknown", None) is not None:
        assert read is not None
        tell_of_unknown(call, [path.removeprefix("$.") for path in unknown_fields(read)])


def tell_of_unknown(call: Call, paths: Sequence[str]) -> None:
    """Warn of these fields, or refuse them (400), as the request asks."""
    directive = call.query.get("fieldValidation", "Warn")
    if not paths or directive == "Ignore":
        return
    texts = [f'unknown field "{path}"' for path in paths]
    if directive == "Strict":
        kind, version = call.resource.kind, call.resource.version
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: {", ".join(texts)}'
        )
    call.warnings.extend(texts)
