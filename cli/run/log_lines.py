r"""Log lines in the kubelet's formats, so that tools for its log read ours.

Text: `I0102 15:04:05.678901    1234 sync_loop.py:42] actorlet.SyncLoopActor: text`: severity, date and time in UTC,
process, place. JSON: one object a line, as component-base writes it: `ts` in milliseconds, `logger`, `caller`, `msg`,
and the verbosity `v`, or `err` of a failure.

No word from outside forges a line: in text, escapes stand for line breaks and controls of a message, and the lines of a
traceback are indented. JSON has the true text, with controls as `\u` escapes. Both bound the length of a message.

Verbosity is the kubelet's `-v`: 0 to 3 shows information and above, 4 and more shows everything. `vmodule` has one for
single files. Each line is written at once: none waits for `logging.flushFrequency`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TextIO

from cli.printing import TRACEBACK_CHARACTERS_AT_MOST, indented
from config.kubelet.configuration import Logging, VerbosityByFile
from config.values.harmless_text import cut_line, harmless_json, harmless_line

DEBUG_FROM = 4
JSON = "json"
_LETTERS = {"CRITICAL": "F", "ERROR": "E", "WARNING": "W", "INFO": "I", "DEBUG": "I"}


class LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%m%d %H:%M:%S.%f")
        head = f"{_LETTERS.get(record.levelname, 'I')}{at} {record.process or os.getpid():7d}"
        line = f"{head} {record.filename}:{record.lineno}] {record.name}: {harmless_line(record.getMessage())}"
        if record.exc_info:
            line += "\n" + indented(self.formatException(record.exc_info))
        return line


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        place = "/".join(record.pathname.split("/")[-2:])
        line: dict[str, object] = {
            "ts": round(record.created * 1000, 3),
            "logger": record.name,
            "caller": f"{place}:{record.lineno}",
            "msg": cut_line(record.getMessage()),
        }
        if record.levelno < logging.ERROR:
            line["v"] = DEBUG_FROM if record.levelno < logging.INFO else 0
        if record.exc_info and record.exc_info[1] is not None:
            line["err"] = cut_line(str(record.exc_info[1])) or type(record.exc_info[1]).__name__
            line["stacktrace"] = self.formatException(record.exc_info)[:TRACEBACK_CHARACTERS_AT_MOST]
        return harmless_json(json.dumps(line, ensure_ascii=False))


class ByFile(logging.Filter):
    """Verbosity of single files (`vmodule`).

    The first pattern that fits the name of a file, without `.py`, decides.
    """

    def __init__(self, entries: Sequence[VerbosityByFile], verbosity: int) -> None:
        super().__init__()
        self._entries = tuple(entries)
        self._of_file: dict[str, int | None] = {}
        self.verbosity = verbosity

    @property
    def shows_everything_somewhere(self) -> bool:
        return any(entry.verbosity >= DEBUG_FROM for entry in self._entries)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.INFO:
            return True
        module = record.module
        if module not in self._of_file:
            fitting = (entry.verbosity for entry in self._entries if fnmatchcase(module, entry.file_pattern))
            self._of_file[module] = next(fitting, None)
        own = self._of_file[module]
        return (self.verbosity if own is None else own) >= DEBUG_FROM


def log_as(settings: Logging, errors: TextIO, information: TextIO) -> list[logging.Handler]:
    """Send all log records to the configured streams, in the configured format.

    Returns the handlers, for `removeHandler`.

    With split streams, `information` gets everything except errors; otherwise `errors` gets all.
    """
    is_json = settings.format == JSON
    formatter = JsonFormatter() if is_json else LineFormatter()
    all_of_it = logging.StreamHandler(errors)
    handlers: list[logging.Handler] = [all_of_it]
    if (settings.options.json if is_json else settings.options.text).split_stream:
        all_of_it.setLevel(logging.ERROR)
        apart = logging.StreamHandler(information)
        apart.addFilter(lambda record: record.levelno < logging.ERROR)
        handlers.append(apart)
    by_file = ByFile(settings.vmodule, settings.verbosity) if settings.vmodule else None
    for handler in handlers:
        handler.setFormatter(formatter)
        if by_file is not None:
            handler.addFilter(by_file)
        logging.getLogger().addHandler(handler)
    set_verbosity(settings.verbosity)
    return handlers


def log_to(stream: TextIO = sys.stderr, verbosity: int = 0, lowest: int = logging.INFO) -> logging.Handler:
    """Send all log records to `stream`, as text; returns the handler, for `removeHandler`."""
    (handler,) = log_as(Logging(), stream, stream)
    set_verbosity(verbosity, lowest)
    return handler


def set_verbosity(verbosity: int, lowest: int = logging.INFO) -> None:
    """Set the verbosity of all files without one of their own."""
    root = logging.getLogger()
    everything = verbosity >= DEBUG_FROM
    for by_file in (each for handler in root.handlers for each in handler.filters if isinstance(each, ByFile)):
        by_file.verbosity = verbosity
        everything = everything or by_file.shows_everything_somewhere
    root.setLevel(logging.DEBUG if everything else lowest)
    # Libraries write much at their debug level.
    libraries = logging.WARNING if verbosity < DEBUG_FROM + 4 else logging.NOTSET
    for name in ("asyncio", "watchdog", "aiohttp", "grpc"):
        logging.getLogger(name).setLevel(libraries)
