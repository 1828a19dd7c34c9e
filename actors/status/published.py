"""The status manager's record of one pod: what its worker says, and what the API shows.

It answers questions about this one pod; the status manager decides who writes, and when.
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
    left to take down. `gone`: the API does not have the pod. `removed`: its deletion was accepted and is not requested
    again, even if the API still shows the pod. `wanted`: the status that the API should show, once computed.
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
    """The status from which `wanted` was computed."""
    _wanted_final: bool = False

    # --- what the API shows -----------------------------------------------------------------------------------------

    def note(self, pod: Pod) -> bool:
        """Record `pod` as what the API shows, if newer than the known object. Returns whether it was."""
        if self.api is not None and not is_newer(pod, self.api):
            return False
        self.api = with_plain_status(pod)
        self.gone = self.removed
        return True

    def show_by(self, mirror: Pod | None) -> None:
        """Another mirror shows the pod from now on; None: none does.

        The first mirror may be older than this agent: its times stay, and its status counts where nothing is known yet.
        A pod of the API server brings its own status; a static pod has none.
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
        """Whether the API has the pod, but not its newest status."""
        return not self.want() if self.may_be_written() else self.writing

    def want(self) -> bool:
        """Compute `wanted`. Returns whether the API shows it. Before the first look, `wanted` is what the
        API shows, which may be newer.
        """
        shown = None if self.api is None else self.api.status
        if shown is not None and not self.seen:
            self.wanted, self._wanted_of = shown, None
            return True
        status, final = self.status, self.final
        if status is self._wanted_of and final is self._wanted_final and shown == self.wanted:
            return True  # `wanted` was computed from this very status, and the API shows it
        self._wanted_of, self._wanted_final = status, final
        self.wanted = status_to_write(status, shown, nothing_runs=final)
        return self.is_shown()

    def is_shown(self) -> bool:
        """Whether the API shows the wanted status, or what it made of it: repeating that write would change nothing."""
        api, wanted = self.api, self.wanted
        if api is None:
            return False
        if api is self._answer and (wanted is self._asked or wanted == self._asked):
            return True
        return api.status == wanted

    def is_ending(self) -> bool:
        """Whether its containers have ended and the final status is about to follow."""
        return self.status.phase in TERMINAL and not self.final

    def is_to_go(self) -> bool:
        """Whether to delete the pod's object: it is being deleted, shows a terminal phase, and nothing is left."""
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
        """A write of `wanted` begins."""
        self.writing = True
        self._sent = self.wanted
        self._base = self.api

    def wrote(self, pod: Pod) -> None:
        """The write was accepted, and `pod` is what the API made of it."""
        self.refused = ""
        if self.api is None or self.api.metadata.uid != pod.metadata.uid:
            return
        self.note(pod)
        api = self.api
        if api.metadata.resource_version != pod.metadata.resource_version:
            return
        if api.status == self._sent:
            # Share the object, so that the frequent comparisons with `wanted` end at once.
            api = self.api = msgspec.structs.replace(api, status=self._sent)
        elif not self._was_asked_for_all(api):
            return
        self._answer, self._asked = api, self._sent

    def _was_asked_for_all(self, api: Pod) -> bool:
        """Whether every part that the API shows differently was in the patch.

        The patch left out what the API seemed to show already; somebody else may have changed that meanwhile.
        """
        if self._base is None or self._sent is None:
            return True
        uid = api.metadata.uid
        return asked_in(status_patch(uid, api.status, self._sent)) <= asked_in(
            status_patch(uid, self._base.status, self._sent)
        )


def is_newer(pod: Pod, known: Pod) -> bool:
    """Compares resourceVersions, which grow (KEP-5504). If one is no number, a different one counts as newer."""
    new, old = pod.metadata.resource_version, known.metadata.resource_version
    if new == old:
        return False
    if new.isdecimal() and old.isdecimal():
        return int(new) > int(old)
    return True
