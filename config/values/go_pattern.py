"""`GoPattern`: regular expressions in Go's syntax, as Kubernetes takes them from its users.

Matched by RE2, which Go's `regexp` follows: the time is linear in the text, and the memory is bounded. Python's `re` is
no substitute for patterns of strangers: a short one may keep it busy for seconds or for ever.

Making a pattern may still take a second of CPU, and matching grows with the text. Neither holds the interpreter lock,
so callers with an event loop do both on a thread.
"""

from __future__ import annotations

from typing import Any

MEMORY_BYTES = 8 * 1024 * 1024
"""For the program of one pattern and for its matching. Go bounds patterns too, by other measures."""


class InvalidGoPatternError(ValueError):
    """The text is no pattern that Go would take, or one that is too large. Says what is wrong with it."""


class GoPattern:
    """A pattern. Raises InvalidGoPatternError. Threads may share it."""

    __slots__ = ("_made", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._made = _made(text)

    def is_in(self, text: str) -> bool:
        """Whether it matches somewhere in the text, as Go's `MatchString`."""
        return self._made.search(_utf8(text)) is not None

    def __repr__(self) -> str:
        return f"GoPattern({self.text!r})"


def _made(text: str) -> Any:
    import re2  # only nodes and servers that are asked for patterns need it

    options = re2.Options()
    options.max_mem = MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True  # groups cost much, and nobody asks for them
    if _has_byte_escape(text):
        raise InvalidGoPatternError("invalid escape sequence: `\\C`")
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise InvalidGoPatternError("invalid UTF-8") from None
    try:
        return re2.compile(encoded, options)
    except re2.error as error:
        raise InvalidGoPatternError(_told(error)) from None
    finally:
        re2.purge()  # else the library keeps the last 128 patterns, of up to 8 MiB each


_GO_SAYS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}


def _told(error: Exception) -> str:
    """What RE2 says, in the words of Go's `regexp`."""
    said = error.args[0] if error.args else "not a regular expression"
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    why, colon, part = text.partition(": ")
    return f"{_GO_SAYS.get(why, why)}: `{part}`" if colon else _GO_SAYS.get(why, why)


def _has_byte_escape(text: str) -> bool:
    r"""Whether `\C` is in the pattern, which RE2 takes and Go does not."""
    at = 0
    while (at := text.find("\\", at)) >= 0:
        if text.startswith("\\Q", at):
            at = text.find("\\E", at)
            if at < 0:
                return False
        elif text.startswith("\\C", at):
            return True
        at += 2
    return False


def _utf8(text: str) -> bytes:
    """The text as Go has it: half of a surrogate pair is a character that cannot be shown."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
