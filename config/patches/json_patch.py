"""JSON patches (RFC 6902) by the library `jsonpatch`, with errors that name the operation by its index. Pure."""

from __future__ import annotations

import copy
from typing import Any

from jsonpatch import InvalidJsonPatch, JsonPatch, JsonPatchException
from jsonpointer import JsonPointerException

from config.patches.errors import PatchError

MAX_OPERATIONS = 10_000
"""As many as the API server takes in one patch; the work of a patch has a bound."""


def apply_json_patch(document: Any, operations: Any) -> Any:
    """The document after all operations. Neither input changes. Raises PatchError."""
    if not isinstance(operations, list):
        raise PatchError("the patch", "it is no list of operations", 'write [{"op": ...}]', malformed=True)
    if len(operations) > MAX_OPERATIONS:
        reason = f"it has {len(operations)} operations"
        raise PatchError("the patch", reason, f"at most {MAX_OPERATIONS} are taken", malformed=True)
    patched = copy.deepcopy(document)
    for index, operation in enumerate(copy.deepcopy(operations)):
        try:
            patch = JsonPatch([operation])
        except (JsonPatchException, JsonPointerException) as error:
            raise PatchError(f"operation {index}", str(error), malformed=True) from None
        where = f"operation {index} ({operation['op']} {operation['path'] or 'the whole document'})"
        try:
            patched = patch.apply(patched, in_place=True)
        except InvalidJsonPatch as error:
            raise PatchError(where, str(error), malformed=True) from None
        except (JsonPatchException, JsonPointerException, LookupError, TypeError) as error:
            raise PatchError(where, str(error)) from None
    return patched
