"""A part of `PodVolumesActor`: mounts subPaths for containers about to start (spec 8.7).

`where_is` tells where a volume of the pod is. The mounting runs on the lane of these volumes, under the pod's UID
and with a deadline, so a dead volume only delays its own pod. It keeps no state: every container start asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from actors.kernel import Actor, Lane, Message, Pending, outcome_of
from actors.messages.volumes import PrepareSubPaths, SubPathsPrepared
from actors.volumes.calls import VolumeLanes, is_remote
from config.frozen_map import FrozenMap
from runtime.volumes.capability import VolumeFailedError, VolumePlace
from runtime.volumes.sub_path import SubPath, SubPaths

SUB_PATHS_LIMIT_NS = 30_000_000_000
"""Longer than a slow disk needs; the container start is retried after that."""

WhereIs = Callable[[str], tuple[VolumePlace, str] | None]
"""Volume of the pod -> (its place on disk, its path on the host), None while it is not there."""


class SubPathsMounted(Message, frozen=True):
    """To the actor itself: the call has ended, well or with `error`."""

    asked: PrepareSubPaths
    paths: FrozenMap[int, str]
    error: str


class VolumeSubPaths:
    """See the module."""

    def __init__(self, actor: Actor, sub_paths: SubPaths, where_is: WhereIs) -> None:
        self._actor = actor
        self._sub_paths = sub_paths
        self._lanes = VolumeLanes(actor)
        self._where_is = where_is

    def prepare(self, message: PrepareSubPaths) -> None:
        """Begin to mount; `SubPathsMounted` reports the end."""
        wanted: list[SubPath] = []
        remote = False
        for each in message.wanted:
            found = self._where_is(each.volume)
            if found is None:
                message.worker.tell(not_there(message, each.volume))
                return
            place, path = found
            remote = remote or is_remote(place)
            container = message.container
            wanted.append(
                SubPath(message.uid, place.name, container, each.index, path, each.path, each.make, each.volume)
            )
        lane = self._lanes.remote if remote else self._lanes.local
        self._actor.begin(lambda: self._mount(lane, message.uid, tuple(wanted)), lambda done: _ended(message, done))

    def _mount(self, lane: Lane, uid: str, wanted: tuple[SubPath, ...]) -> Pending[Mapping[int, str]]:
        return lane.submit(uid, self._sub_paths.prepare, wanted, deadline_ns=SUB_PATHS_LIMIT_NS)

    def mounted(self, message: SubPathsMounted) -> None:
        if message.error:
            self._actor.log.warning("pod %s: %s", message.asked.uid, message.error)
        self._answer(message.asked, message.paths, message.error)

    def _answer(self, asked: PrepareSubPaths, paths: FrozenMap[int, str], error: str) -> None:
        asked.worker.tell(SubPathsPrepared(asked.container, asked.wanted, paths, error))


def not_there(asked: PrepareSubPaths, volume: str) -> SubPathsPrepared:
    """The answer when a volume is missing."""
    return SubPathsPrepared(asked.container, asked.wanted, FrozenMap(), f"volume {volume!r} is not there yet")


def _ended(asked: PrepareSubPaths, done: Pending[Mapping[int, str]]) -> SubPathsMounted:
    outcome = outcome_of(done)
    if outcome.error is None:
        return SubPathsMounted(asked, FrozenMap(outcome.value or {}), "")
    if isinstance(outcome.error, VolumeFailedError):
        return SubPathsMounted(asked, FrozenMap(), str(outcome.error))
    text = f'failed to prepare subPath for container "{asked.container}": {outcome.error}'
    return SubPathsMounted(asked, FrozenMap(), text)
