"""What a gate or a step of a pass returns: go on, wait, or refuse.

A step only returns an outcome. `PodSync` alone acts on it: it sets the timer, records the event and tells `explain`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from actors.messages.history import PodWait


class Continue(msgspec.Struct, frozen=True):
    """The next step may begin."""


class PassWait(msgspec.Struct, frozen=True):
    """The pass ends here. `text` says what the pod waits for, and `then` what comes next.

    Without a `text` the pod waits for what its containers wait for. `retry_ns`: the next pass begins after this time
    at the latest; None: an answer or a change begins it. `warn`: a change of `text` is also a warning event.
    """

    text: str = ""
    then: str = ""
    reason: str = ""
    retry_ns: int | None = None
    warn: bool = False

    def shown(self, wall_ns: int) -> PodWait | None:
        """What `explain` shows."""
        return PodWait("the pod", self.reason, self.text, self.then) if self.text else None

    @property
    def warning(self) -> str:
        """The message of the event; empty when there is none."""
        return self.text if self.warn else ""


class Refuse(msgspec.Struct, frozen=True):
    """The pod cannot go on as it is: a warning event says so, and the pass is tried again after `retry_ns`."""

    reason: str
    message: str
    then: str
    retry_ns: int
    event: str = ""
    """The message of the event, if it differs from `message`."""

    def shown(self, wall_ns: int) -> PodWait | None:
        """What `explain` shows."""
        return PodWait("the pod", self.reason, self.message, self.then, wall_ns + self.retry_ns)

    @property
    def warning(self) -> str:
        """The message of the event."""
        return self.event or self.message


Outcome: TypeAlias = Continue | PassWait | Refuse
CONTINUE = Continue()
WAIT = PassWait()
"""End the pass; the waits of the containers say why."""


def sandbox_refused(why: str, retry_ns: int) -> Refuse:
    """The sandbox cannot be made now."""
    return Refuse(
        "FailedCreatePodSandBox", why, "its sandbox is tried again", retry_ns, f"Failed to create pod sandbox: {why}"
    )
