"""Parses the kernel's reports of out-of-memory kills, line by line (`OomLines`). Pure.

A report begins with who asked for memory (`... invoked oom-killer`), goes on with a page of numbers, says whose limit
it was about, and ends with the victims. What stands in it has changed over the years:

    since 5.0   oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/a,task_memcg=/a/b,task=x,pid=7,uid=0
                Memory cgroup out of memory: Killed process 7 (x) total-vm:...
    before      Task in /a/b killed as a result of limit of /a
                Memory cgroup out of memory: Kill process 7 (x) score 9 or sacrifice child
                Killed process 7 (x) total-vm:...
    with memory.oom.group also   Tasks in /a/b are going to be killed due to memory.oom.group set

Lines may be missing: the kernel overwrites what nobody has read in time. A victim without further information was
killed for the whole machine, unless its own line says otherwise.
"""

from __future__ import annotations

import re

from runtime.oom.capability import OomKill

_BEGINS = " invoked oom-killer:"
_SUMMARY = "oom-kill:constraint=CONSTRAINT_"
_END_OF_SUMMARY = re.compile("[0-9]+,uid=[0-9]+")
_VICTIM = re.compile(r"Killed process (?P<pid>[0-9]+),?(?: UID [0-9]+,)? \(")
_OF_A_GROUP = "Memory cgroup out of memory"
_WORDS = (
    _BEGINS,
    "oom-kill:",
    "killed as a result of limit of",
    "memory.oom.group set",
    "Killed process ",
    _OF_A_GROUP,
)
MARKS = tuple(word.encode("ascii") for word in _WORDS)
"""Only lines with one of these matter, so other lines need not be decoded."""


class OomLines:
    """A report as it comes. Told the texts of the kernel's lines in their order, it gives the kills."""

    def __init__(self) -> None:
        self._forget()

    def told(self, text: str) -> OomKill | None:
        """The kill that this line completes; None for any other line."""
        if _BEGINS in text:
            self._forget()
        elif found := _summary(text):
            self._limited, self._cgroup, self._of_a_group = found
        elif cgroups := _between(text, "Task in ", " killed as a result of limit of "):
            self._of_a_group = True
            self._cgroup, self._limited = cgroups
        elif cgroups := _between(text, "Tasks in ", " are going to be killed due to memory.oom.group set"):
            self._of_a_group = True
            self._cgroup = cgroups[0]
        elif _OF_A_GROUP in text and "Killed process" not in text:
            self._of_a_group = True
        elif (match := _VICTIM.search(text)) and (process := text[match.end() :].rpartition(")"))[1]:
            return self._killed(int(match["pid"]), process[0], _OF_A_GROUP in text)
        return None

    def _killed(self, pid: int, process: str, of_a_group: bool) -> OomKill | None:
        if pid in self._victims:
            return None  # of a group that is killed as a whole, the first victim is named twice
        self._victims.add(pid)
        return OomKill(pid, process, not (of_a_group or self._of_a_group), self._cgroup, self._limited)

    def _forget(self) -> None:
        self._cgroup = self._limited = ""
        self._of_a_group = False
        self._victims: set[int] = set()


def _summary(text: str) -> tuple[str, str, bool] | None:
    """Three facts of an `oom-kill:` line.

    (cgroup with the limit, cgroup of the victim, whether a cgroup's limit was hit)

    The names of cgroups and processes come from containers, so the line is cut at its first and last words.
    """
    rest = text.partition(_SUMMARY)[2]
    rest, _, end = rest.rpartition(",pid=")
    rest, process, _ = rest.rpartition(",task=")
    if not process or not _END_OF_SUMMARY.match(end):
        return None
    rest, _, cgroup = rest.partition(",task_memcg=")
    before, limit, limited = rest.partition("oom_memcg=")
    if "global_oom" in before:
        return "", cgroup, False
    return (limited, cgroup, True) if limit else None


def _between(text: str, before: str, after: str) -> tuple[str, str] | None:
    """The text between the first of the two and the last of the others, and the text after that."""
    _, begins, rest = text.partition(before)
    found, ends, behind = rest.rpartition(after)
    return (found, behind) if begins and ends else None
