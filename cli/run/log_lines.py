"""Log lines on standard error in the kubelet's format, so that tools for its log read ours.

`I0102 15:04:05.678901    1234 sync_loop.py:42] actorlet.SyncLoopActor: text`: severity, date and time in UTC, process,
place. Verbosity is the kubelet's `-v`: 0 to 3 shows information and above, 4 and more shows everything.
"""

from __future__ import annotations

import logging
import os
import sys
from datetime import UTC, datetime
from typing import TextIO

DEBUG_FROM = 4
_LETTERS = {"CRITICAL": "F", "ERROR": "E", "WARNING": "W", "INFO": "I", "DEBUG": "I"}


class LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%m%d %H:%M:%S.%f")
        head = f"{_LETTERS.get(record.levelname, 'I')}{at} {record.process or os.getpid():7d}"
        line = f"{head} {record.filename}:{record.lineno}] {record.name}: {record.getMessage()}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def log_to(stream: TextIO = sys.stderr, verbosity: int = 0, lowest: int = logging.INFO) -> logging.Handler:
    """Send all log records to `stream`; returns the handler, for `removeHandler`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    logging.getLogger().addHandler(handler)
    set_verbosity(verbosity, lowest)
    return handler


def set_verbosity(verbosity: int, lowest: int = logging.INFO) -> None:
    """Set the verbosity of the root logger."""
    logging.getLogger().setLevel(logging.DEBUG if verbosity >= DEBUG_FROM else lowest)
    # Libraries write much at their debug level.
    libraries = logging.WARNING if verbosity < DEBUG_FROM + 4 else logging.NOTSET
    for name in ("asyncio", "watchdog", "aiohttp", "grpc"):
        logging.getLogger(name).setLevel(libraries)
