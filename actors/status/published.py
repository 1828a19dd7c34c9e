"""The status manager's record of one pod: what its worker says, and what the API shows (spec 4.5).

`Published` answers questions about this one pod; the status manager decides who writes, and when. `next_status` keeps
the promises to readers of a status, whatever the worker sees:

- A terminal phase is final: no other phase is published after it.
- Unknown values keep the last one: a phase or an address that the new status leaves out stays. A pod that the node
  does not take has no address, though one may have been published.
- The start time never changes, and a condition's transition time changes only with its status.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from actors.pod_status.conditions import FAILED, TERMINAL, by_type, foreign, type_of
from actors.status.merge import NOTHING, status_to_write, with_plain_status
from actors.status.patch import asked_in, status_patch
from config.documents.sharing import shared
from config.objects import Pod, PodCondition, PodStatus
from config.pods.identity import is_static

_KEPT = ("phase", "host_ip", "host_ips", "pod_ip", "pod_ips")
"""Fields that keep their value when a new status leaves them out."""


@dataclass(slots=True, eq=False, repr=False)
class Published:
    """See the module.

    `version` counts the changes of `status`; `api` is the newest object that the API has shown.

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
        """Whether repeating the write would change nothing.

        The API shows the wanted status, or what it made of it.
        """
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
        """Whether to delete the pod's object.

        It is being deleted, shows a terminal phase, and nothing is left.
        """
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

    def end_write(self) -> bool:
        """The write has ended. Returns whether this record began it, and not an earlier one of the same pod."""
        self.writing = False
        return self._sent is not None

    def wrote(self, pod: Pod) -> None:
        """The write was accepted, and `pod` is what the API made of it."""
        self.refused = ""
        base, self._base = self._base, None
        if self.api is None or self.api.metadata.uid != pod.metadata.uid:
            return
        # Its own copy of what is known already is not kept.
        self.note(shared(msgspec.structs.replace(pod, spec=self.pod.spec), self.api))
        api = self.api
        if api.metadata.resource_version != pod.metadata.resource_version:
            return
        if api.status == self._sent:
            # Share the object, so that the frequent comparisons with `wanted` end at once.
            api = self.api = msgspec.structs.replace(api, status=self._sent)
        elif not self._was_asked_for_all(base, api):
            return
        self._answer, self._asked = api, self._sent

    def _was_asked_for_all(self, base: Pod | None, api: Pod) -> bool:
        """Whether every part that the API shows differently was in the patch.

        The patch left out what the API seemed to show already; somebody else may have changed that meanwhile.
        """
        if base is None or self._sent is None:
            return True
        uid = api.metadata.uid
        return asked_in(status_patch(uid, api.status, self._sent)) <= asked_in(
            status_patch(uid, base.status, self._sent)
        )


def is_newer(pod: Pod, known: Pod) -> bool:
    """Compares resourceVersions, which grow (KEP-5504).

    If one is no number, a different one counts as newer.
    """
    new, old = pod.metadata.resource_version, known.metadata.resource_version
    if new == old:
        return False
    if new.isdecimal() and old.isdecimal():
        return int(new) > int(old)
    return True


def next_status(published: PodStatus | None, computed: PodStatus) -> PodStatus | None:
    """The status to publish after `published`; None when `computed` would bring an ended pod back to life.

    Gives `published` itself when nothing has changed.
    """
    if published is None:
        return computed
    if published.phase in TERMINAL and computed.phase not in (None, published.phase):
        return None
    kept: dict[str, Any] = {}
    if not (computed.phase and computed.host_ip and computed.host_ips and computed.pod_ip and computed.pod_ips):
        refused = computed.phase == FAILED and foreign(computed.conditions) == computed.conditions
        names = () if refused else _KEPT
        kept = {name: old for name in names if not getattr(computed, name) and (old := getattr(published, name))}
    if published.start_time and published.start_time != computed.start_time:
        kept["start_time"] = published.start_time
    conditions = _with_kept_times(published.conditions, computed.conditions)
    if conditions is not computed.conditions:
        kept["conditions"] = conditions
    status = msgspec.structs.replace(computed, **kept) if kept else computed
    return published if status == published else status


def _with_kept_times(
    published: tuple[PodCondition, ...], computed: tuple[PodCondition, ...]
) -> tuple[PodCondition, ...]:
    """The computed conditions with the transition times of unchanged statuses.

    The same tuple if nothing differs.
    """
    before = by_type(published)
    moved = {
        new.type
        for old, new in zip(map(before.get, map(type_of, computed)), computed, strict=True)
        if old is not new
        and old is not None
        and old.status == new.status
        and old.last_transition_time is not None
        and old.last_transition_time != new.last_transition_time
    }
    if not moved:
        return computed
    return tuple(
        msgspec.structs.replace(each, last_transition_time=before[each.type].last_transition_time)
        if each.type in moved
        else each
        for each in computed
    )
