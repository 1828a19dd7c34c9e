"""A query for the logs of the node's services (spec 11.5).

It is parsed, checked, and turned into a command line of journalctl.

Pure. A query names services, or one file under the log directory; options narrow the journal down. All faults are
reported at once. A kubelet checks patterns by Go's rules, and so does this; journalctl matches them, as PCRE2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from config.values.go_pattern import GoPattern, InvalidGoPatternError
from runtime.http_server.heads import HttpRefusal, Query
from runtime.logs.lines import SECOND_NS, time_ns

SERVICES_AT_MOST = 4
LINES_AT_MOST = 100_000
PATTERN_CHARACTERS_AT_MOST = 1_000
PATH_CHARACTERS_AT_MOST = 4_096
EARLIEST_S, LATEST_S = -62_135_596_800, 253_402_300_799
"""The years 1 and 9999, in UTC: a zone may lead out of them."""
_SERVICE = re.compile(r"[a-zA-Z\-_.:0-9@]{1,256}")
_NAMES = frozenset({"query", "sinceTime", "untilTime", "tailLines", "pattern", "boot"})


@dataclass(frozen=True, slots=True)
class LogQuery:
    """`services`, or `file` relative to the log directory. Times in wall-clock ns."""

    services: tuple[str, ...] = ()
    file: str = ""
    since_ns: int | None = None
    until_ns: int | None = None
    lines: int | None = None
    pattern: str = ""
    boot: int | None = None

    @property
    def narrowed(self) -> bool:
        """Whether it has options that only a journal understands."""
        return bool(self.pattern) or any(
            each is not None for each in (self.since_ns, self.until_ns, self.lines, self.boot)
        )


def is_log_query(query: Query) -> bool:
    """Whether this is a query, and no request for a file or a directory."""
    return any(name in _NAMES for name, _ in query)


def has_pattern(query: Query) -> bool:
    return any(name == "pattern" for name, _ in query)


def log_query(query: Query) -> LogQuery:
    """Parse a log query. Raises HttpRefusal with all its faults.

    With a pattern it may take a second of CPU, without the interpreter lock: call it on a thread then.
    """
    faults: list[str] = []
    asked = [value for name, value in query if name == "query" and value]
    files = [each for each in asked if "/" in each or "\\" in each]
    services = [each for each in asked if each not in files]
    first = {name: value for name, value in reversed(query) if value}
    made = LogQuery(
        services=tuple(services),
        file=files[0].lstrip("/") if files else "",
        since_ns=_time(first, "sinceTime", faults),
        until_ns=_time(first, "untilTime", faults),
        lines=_number(first, "tailLines", 0, LINES_AT_MOST, faults),
        pattern=first.get("pattern", ""),
        boot=_number(first, "boot", -LINES_AT_MOST, 0, faults),
    )
    faults += _faults(made, services, files)
    if faults:
        raise HttpRefusal(400, "\n".join(faults))
    return made


def _faults(made: LogQuery, services: list[str], files: list[str]) -> Iterator[str]:
    if not services and not files:
        yield "query: is required; name a service, or a file of the log directory with a slash before it"
    if services and files:
        yield "query: names services and a file; ask for them apart"
    if len(files) > 1:
        yield "query: names more than one file"
    if files and made.narrowed:
        yield "query: a file is given as it is; no other option may be there"
    if len(services) > SERVICES_AT_MOST:
        yield f"query: names more than {SERVICES_AT_MOST} services"
    for each in services:
        if not _SERVICE.fullmatch(each) or each.startswith("-") or each in (".", ".."):
            yield f"query: {each[:300]!r} is not the name of a service"
    if made.since_ns is not None and made.until_ns is not None and made.since_ns > made.until_ns:
        yield "sinceTime: is after untilTime"
    for each in files:
        if not each.isprintable() or len(each) > PATH_CHARACTERS_AT_MOST:
            yield f"query: {each[:300]!r} is not the path of a file"
    if made.pattern:
        yield from _pattern_faults(made.pattern)


def _pattern_faults(pattern: str) -> Iterator[str]:
    if len(pattern) > PATTERN_CHARACTERS_AT_MOST:
        yield f"pattern: has more than {PATTERN_CHARACTERS_AT_MOST} characters"
    elif not pattern.isprintable():
        yield f"pattern: {pattern!r} has characters that cannot be printed"
    else:
        try:
            GoPattern(pattern)
        except InvalidGoPatternError as error:
            yield f"pattern: {pattern!r} is not a regular expression: {error}"


def journal_command(journalctl: str, query: LogQuery) -> tuple[str, ...]:
    """The command to run. No value of the query can become an option."""
    command = [journalctl, "--utc", "--no-pager", "--output=short-precise"]
    if query.since_ns is not None:
        command.append(f"--since={_stamp(query.since_ns)}")
    if query.until_ns is not None:
        command.append(f"--until={_stamp(query.until_ns)}")
    if query.lines is not None:
        command += ["--pager-end", f"--lines={query.lines}"]
    command += [f"--unit={each}" for each in query.services]
    if query.pattern:
        command += [f"--grep={query.pattern}", "--case-sensitive=false"]
    if query.boot is not None:
        command.append(f"--boot={query.boot}")
    return tuple(command)


def _stamp(wall_ns: int) -> str:
    return f"{datetime.fromtimestamp(wall_ns // SECOND_NS, UTC):%Y-%m-%d %H:%M:%S}"


def files_of(service: str) -> tuple[str, ...]:
    """The files of a service without a journal, relative to the log directory, in this order."""
    return (service, f"{service}.log", f"{service}/{service}.log")


def _time(first: dict[str, str], name: str, faults: list[str]) -> int | None:
    text = first.get(name, "")
    found = time_ns(text) if text else None
    if text and (found is None or not EARLIEST_S <= found // SECOND_NS <= LATEST_S):
        faults.append(f"{name}: {text!r} is not a time such as 2026-01-31T12:00:00Z")
    return found


def _number(first: dict[str, str], name: str, least: int, most: int, faults: list[str]) -> int | None:
    text = first.get(name, "")
    if not text:
        return None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 10 and least <= int(text) <= most):
        faults.append(f"{name}: {text!r} is not a number from {least} to {most}")
        return None
    return int(text)
