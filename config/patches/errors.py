"""What can be wrong with a patch."""

from __future__ import annotations


class PatchError(ValueError):
    """Why a patch cannot be applied or made: where (a path in the document, or an operation), why, and what to do.

    `malformed` tells a patch that no document could take (HTTP 400) from one that this document cannot take (422).
    """

    def __init__(self, where: str, reason: str, hint: str = "", *, malformed: bool = False) -> None:
        super().__init__(where, reason, hint)
        self.where = where
        self.reason = reason
        self.hint = hint
        self.malformed = malformed

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}; {self.hint}" if self.hint else f"{self.where}: {self.reason}"
