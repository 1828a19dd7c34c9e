"""JSON patches (RFC 6902) with the library `jsonpatch`.

Errors name the operation by its index. Pure.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from config.patches.errors import PatchError

COPIED_BYTES_AT_MOST = 3 * 2**20
"""The most JSON that all copies of one patch may make together.

A copy of the whole document into itself doubles it each time.
"""
MAX_OPERATIONS = 10_000
"""The limit of operations in the API server, so that the work of a patch is bounded."""


def apply_json_patch(document: Any, operations: Any) -> Any:
    """The document after all operations. Neither input changes. Raises PatchError."""
    # Only API servers apply patches: an agent does not carry the library.
    from jsonpatch import InvalidJsonPatch, JsonPatch, JsonPatchException
    from jsonpointer import JsonPointerException, resolve_pointer

    if not isinstance(operations, list):
        raise PatchError("the patch", "it is not a list of operations", 'write [{"op": ...}]', malformed=True)
    if len(operations) > MAX_OPERATIONS:
        reason = f"it has {len(operations)} operations"
        raise PatchError("the patch", reason, f"at most {MAX_OPERATIONS} are taken", malformed=True)
    patched = copy.deepcopy(document)
    copied_bytes = 0
    for index, operation in enumerate(copy.deepcopy(operations)):
        try:
            patch = JsonPatch([operation])
        except (JsonPatchException, JsonPointerException) as error:
            raise PatchError(f"operation {index}", str(error), malformed=True) from None
        where = f"operation {index} ({operation['op']} {operation['path'] or 'the whole document'})"
        try:
            if operation["op"] == "copy":
                copied_bytes += len(msgspec.json.encode(resolve_pointer(patched, operation["from"])))
                if copied_bytes > COPIED_BYTES_AT_MOST:
                    reason = f"the operations so far copy more than {COPIED_BYTES_AT_MOST} bytes"
                    raise PatchError(where, reason, "send the document itself", malformed=True)
            patched = patch.apply(patched, in_place=True)
        except InvalidJsonPatch as error:
            raise PatchError(where, str(error), malformed=True) from None
        except (JsonPatchException, JsonPointerException, LookupError, TypeError, RecursionError) as error:
            raise PatchError(where, str(error)) from None
    try:
        msgspec.json.encode(patched)
    except RecursionError:
        raise PatchError("the patch", "its result is nested too deeply", "flatten it", malformed=True) from None
    return patched
