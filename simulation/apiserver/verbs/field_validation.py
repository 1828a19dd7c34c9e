"""Fields that a kind does not have: ignored, warned of, or refused, as the request asks (`fieldValidation`)."""

from __future__ import annotations

from simulation.apiserver.kinds.rules import KindRules, unknown_in
from simulation.apiserver.requests import Call
from simulation.apiserver.status import Json, bad_request


def check_fields(call: Call, rules: KindRules, value: Json) -> None:
    """Checks the types of all known fields, too. Raises StatusError (400)."""
    directive = call.query.get("fieldValidation", "Warn")
    if directive not in ("Ignore", "Warn", "Strict"):
        raise bad_request(f'fieldValidation: Unsupported value: "{directive}": supported values: Ignore, Strict, Warn')
    unknown = unknown_in(rules.read(call.resource, value))
    if not unknown or directive == "Ignore":
        return
    texts = [f'unknown field "{path}"' for path in unknown]
    if directive == "Strict":
        kind, version = call.resource.kind, call.resource.version
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: {", ".join(texts)}'
        )
    call.warnings.extend(texts)
