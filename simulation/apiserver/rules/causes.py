"""The causes of a refusal, in the words of a kube-apiserver.

Upstream has them in `apimachinery/pkg/util/validation/field/errors.go`. Pure.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any, TypeAlias

Cause: TypeAlias = tuple[str, str, str]
"""Reason, message, field: the arguments of `status.invalid`."""

NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"


def shown(value: Any) -> str:
    """A value as Go's JSON encoder writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign, escaped in (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e")):
        text = text.replace(sign, escaped) if not isinstance(value, str) else text
    return text


def invalid(field: str, value: Any, why: str) -> Cause:
    return "FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", field


def required(field: str, why: str = "") -> Cause:
    return "FieldValueRequired", f"Required value{': ' + why if why else ''}", field


def forbidden(field: str, why: str) -> Cause:
    return "FieldValueForbidden", f"Forbidden: {why}", field


def duplicate(field: str, value: Any) -> Cause:
    return "FieldValueDuplicate", f"Duplicate value: {shown(value)}", field


def not_found(field: str, value: Any) -> Cause:
    return "FieldValueNotFound", f"Not found: {shown(value)}", field


def too_long(field: str, most: int) -> Cause:
    return "FieldValueTooLong", f"Too long: may not be more than {most} bytes", field


def too_many(field: str, found: int, most: int) -> Cause:
    return "FieldValueTooMany", f"Too many: {found}: must have at most {most} items", field


def not_supported(field: str, value: Any, known: Iterable[str]) -> Cause:
    choices = ", ".join(shown(one) for one in known)
    return "FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {choices}", field


def difference(old: Any, new: Any) -> str:
    """What has changed, as JSON line by line. Upstream shows its own structs so."""
    before, after = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (old, new))
    return "".join(f"{line}\n" for line in list(difflib.unified_diff(before, after, lineterm=""))[2:])
