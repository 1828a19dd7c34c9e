"""The error of a patch."""

from __future__ import annotations


class PatchError(ValueError):
    """Why a patch cannot be applied or made: the place, the reason, and a hint.

    The place is a path in the document, or an operation.

    `malformed`: no document could take the patch (HTTP 400). Otherwise this document cannot take it (422).
    `failed_test`: a test of the patch has found another value.
    """

    def __init__(
        self, where: str, reason: str, hint: str = "", *, malformed: bool = False, failed_test: bool = False
    ) -> None:
        super().__init__(where, reason, hint)
        self.where = where
        self.reason = reason
        self.hint = hint
        self.malformed = malformed
        self.failed_test = failed_test

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}; {self.hint}" if self.hint else f"{self.where}: {self.reason}"
