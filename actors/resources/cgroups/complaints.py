"""Reports the faults of the node's cgroups in the log and as events of the node, each text once."""

from __future__ import annotations

import os
from collections.abc import Iterable

from actors.kernel import Actor, ActorRef
from actors.node_object.events import node_event

NOT_ENFORCED = "FailedNodeAllocatableEnforcement"


_HUGE_PAGES = "hugetlb."
_UNSET = " cannot be set to "
"""In what `Cgroups.apply` says of a file that it could not write."""


def parted(problems: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Problems with limits that must hold, and those with huge pages.

    Without a controller for huge pages a node is well, as for a kubelet (`maybeSetHugetlb`).
    """
    needed: list[str] = []
    optional: list[str] = []
    for problem in problems:
        (optional if _file_in(problem).startswith(_HUGE_PAGES) else needed).append(problem)
    return tuple(needed), tuple(optional)


def not_enforced(what: str, problems: Iterable[str]) -> str:
    """Say that limits do not hold; some do where each problem is about one file of the cgroup."""
    problems = tuple(problems)
    which = "some limits" if all(_UNSET in each for each in problems) else "limits"
    return f"{which} of {what} are not enforced: {'; '.join(problems)}"


def _file_in(problem: str) -> str:
    return os.path.basename(problem.partition(" cannot ")[0])


class Complaints:
    def __init__(self, actor: Actor, node: str, events: ActorRef) -> None:
        self._actor = actor
        self._node = node
        self._events = events
        self._said: set[str] = set()

    def about_a_file(self, problem: str) -> None:
        """Warn once per file: one that cannot be written for one pod cannot be written for the next either."""
        file = _file_in(problem)
        if file not in self._said:
            self._said.add(file)
            self.say(f"not every limit of cgroups holds: {problem}")

    def say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._actor.log.warning("%s", text)
            self._events.tell(node_event(self._node, "Warning", NOT_ENFORCED, text))
