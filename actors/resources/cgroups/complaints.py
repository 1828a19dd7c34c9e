"""Reports the faults of the node's cgroups in the log and as events of the node, each text once."""

from __future__ import annotations

import os

from actors.kernel import Actor, ActorRef
from actors.node_object.events import node_event

NOT_ENFORCED = "FailedNodeAllocatableEnforcement"


class Complaints:
    def __init__(self, actor: Actor, node: str, events: ActorRef) -> None:
        self._actor = actor
        self._node = node
        self._events = events
        self._said: set[str] = set()

    def about_a_file(self, problem: str) -> None:
        """Warn once per file: one that cannot be written for one pod cannot be written for the next either."""
        file = os.path.basename(problem.partition(" cannot ")[0])
        if file not in self._said:
            self._said.add(file)
            self.say(f"not every limit of cgroups holds: {problem}")

    def say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._actor.log.warning("%s", text)
            self._events.tell(node_event(self._node, "Warning", NOT_ENFORCED, text))
