"""What commands print: every text goes through here, so no word from outside acts on a terminal.

`cli/styling.py` has what rich draws. `guard_interpreter` covers what Python prints by itself.
"""

from __future__ import annotations

import logging
import sys
import textwrap
import threading
import traceback
from types import TracebackType
from typing import TextIO

from config.values.harmless_text import harmless_json, harmless_line, harmless_lines

TRACEBACK_CHARACTERS_AT_MOST = 64 * 1024


def say(*lines: str, to: TextIO | None = None) -> None:
    """Print each text as one line, on standard output if not `to` another stream."""
    _write("".join([f"{harmless_line(line)}\n" for line in lines]), to)


def complain(*lines: str) -> None:
    """Print each text as one line on standard error."""
    say(*lines, to=sys.stderr)


def prompt(text: str) -> None:
    """Print it without ending the line."""
    _write(harmless_line(text), None)


def say_json(document: str | bytes, to: TextIO | None = None) -> None:
    r"""Print a document. Its texts stay true: `\u` escapes stand for what a terminal would obey."""
    text = document if isinstance(document, str) else document.decode(errors="replace")
    _write(f"{harmless_json(text)}\n", to)


def indented(trace: str) -> str:
    """A traceback whose lines cannot pass for lines of a log, whatever the text of the error is."""
    return textwrap.indent(harmless_lines(trace, TRACEBACK_CHARACTERS_AT_MOST), "  ")


def guard_interpreter() -> None:
    """Make harmless what Python prints by itself: uncaught exceptions, and records without a handler.

    A character that the encoding of standard output does not have becomes an escape, and ends no command.
    """
    sys.excepthook = _print_uncaught
    threading.excepthook = _thread_failed
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_OneLine())
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return harmless_line(record.getMessage())


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    if not issubclass(failed.exc_type, SystemExit):  # which ends a thread without a word
        complain(f"exception in thread {failed.thread.name if failed.thread else 'that is gone'}:")
        _print_uncaught(failed.exc_type, failed.exc_value, failed.exc_traceback)


def _print_uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    _write(indented("".join(traceback.format_exception(kind, error, trace))), sys.stderr)


def _write(text: str, to: TextIO | None) -> None:
    out = sys.stdout if to is None else to
    out.write(text)
    out.flush()
