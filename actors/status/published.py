"""What the status manager knows of one pod: what its worker says, and what the API shows.

A record with the questions that follow from it alone; who writes, and when, is the status manager's.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from actors.pod_status.conditions import TERMINAL
from actors.status.merge import NOTHING, status_to_write, with_plain_status
from actors.status.patch import asked_in, status_patch
from actors.status.published_status import next_status
from config.objects import Pod, PodStatus
from config.pods.identity import is_static


@dataclass(slots=True, eq=False, repr=False)
class Published:
    """See the module. `version` counts the changes of `status`; `api` is the newest object that the API has shown.

    `seen`: its status rests on a look at the runtime. `final`: nothing of the pod runs. `finished`: nothing of it is
    left to take down. `gone`: the API has no such pod (any more). `removed`: its deletion was taken, and what is shown
    of it still is no reason to ask for that again. `wanted`: what the API is to show, once that has been worked out.
    """

    pod: Pod
    status: PodStatus
    version: int = 0
    seen: bool = False
    final: bool = False
    finished: bool = False
    api: Pod | None = None
    gone: bool = False
    removed: bool = False
    wanted: PodStatus = NOTHING
    writing: bool = False
    refused: str = ""
    _sent: PodStatus | None = None
    _asked: PodStatus | None = None
    _base: Pod | None = None
    _answer: Pod | None = None
    _wanted_of: PodStatus | None = None
    """The status for which `wanted` was worked out."""
    _wanted_final: bool = False

    # --- what the API shows -----------------------------------------------------------------------------------------

    def note(self, pod: Pod) -> bool:
        """Take `pod` as what the API shows, if it is newer than what is known."""
        if self.api is not None and not is_newer(pod, self.api):
            return False
        self.api = with_plain_status(pod)
        self.gone = self.removed
        return True

    def show_by(self, mirror: Pod | None) -> None:
        """Another object than before shows the pod from now on; None: none does.

        A mirror that was there before this agent keeps its times, and holds where nothing is known yet. A pod of the
        API server brings its status with it; a static pod has none of its own.
        """
        first = self.api is None
        self.api, self.gone = None if mirror is None else with_plain_status(mirror), False
        shown = None if self.api is None else self.api.status
        if not first or shown is None:
            return
        status = next_status(shown, self.status)
        if status is not None:
            self.status = status if status.conditions else msgspec.structs.replace(status, conditions=shown.conditions)

    # --- writes -----------------------------------------------------------------------------------------------------

    def may_be_written(self) -> bool:
        """Whether there is an object to write to, and no write under way."""
        return self.api is not None and not self.gone and not self.writing

    def waits_for_write(self) -> bool:
        """The API has the pod, and not yet its newest status."""
        return not self.want() if self.may_be_written() else self.writing

    def want(self) -> bool:
        """Work out anew what the API is to show: while nothing was seen, what it shows, which may well be later.
        Whether it shows that.
        """
        shown = None if self.api is None else self.api.status
        if shown is not None and not self.seen:
            self.wanted, self._wanted_of = shown, None
            return True
        status, final = self.status, self.final
        if status is self._wanted_of and final is self._wanted_final and shown == self.wanted:
            return True  # it shows what was wanted for this very status: nothing else is
        self._wanted_of, self._wanted_final = status, final
        self.wanted = status_to_write(status, shown, nothing_runs=final)
        return self.is_shown()

    def is_shown(self) -> bool:
        """The API has the wanted status, or what it makes of it: asking again for what it keeps otherwise is no use."""
        api, wanted = self.api, self.wanted
        if api is None:
            return False
        if api is self._answer and (wanted is self._asked or wanted == self._asked):
            return True
        return api.status == wanted

    def is_ending(self) -> bool:
        """Its containers have come to their end, and the last word on it is about to follow."""
        return self.status.phase in TERMINAL and not self.final

    def is_to_go(self) -> bool:
        """The pod's object may leave the API: it is to be deleted, shown as ended, and nothing is left of it."""
        api = self.api
        return (
            api is not None
            and self.finished
            and not is_static(self.pod)
            and api.metadata.deletion_timestamp is not None
            and api.status is not None
            and api.status.phase in TERMINAL
        )

    def begin_write(self) -> None:
        """A write of what is wanted now is under way."""
        self.writing = True
        self._sent = self.wanted
        self._base = self.api

    def wrote(self, pod: Pod) -> None:
        """The write was taken, and `pod` is what the API made of it."""
        self.refused = ""
        if self.api is None or self.api.metadata.uid != pod.metadata.uid:
            return
        self.note(pod)
        api = self.api
        if api.metadata.resource_version != pod.metadata.resource_version:
            return
        if api.status == self._sent:
            # Kept once, and the same from now on at the first look: it is compared with what is wanted again and again.
            api = self.api = msgspec.structs.replace(api, status=self._sent)
        elif not self._was_asked_for_all(api):
            return
        self._answer, self._asked = api, self._sent

    def _was_asked_for_all(self, api: Pod) -> bool:
        """Whether what the API shows otherwise than it was asked to is something that it was asked for.

        What it was thought to show already was left out; somebody else may have changed that meanwhile.
        """
        if self._base is None or self._sent is None:
            return True
        uid = api.metadata.uid
        return asked_in(status_patch(uid, api.status, self._sent)) <= asked_in(
            status_patch(uid, self._base.status, self._sent)
        )


def is_newer(pod: Pod, known: Pod) -> bool:
    """By resourceVersion, which grows (KEP-5504); what is no number counts as newer when it differs."""
    new, old = pod.metadata.resource_version, known.metadata.resource_version
    if new == old:
        return False
    if new.isdecimal() and old.isdecimal():
        return int(new) > int(old)
    return True
