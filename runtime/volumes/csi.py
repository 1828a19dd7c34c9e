"""csi: volumes of storage drivers (spec 8.8).

They are file systems or devices, shared by pods or made for one.

`runtime.csi` calls the driver. `csi_layout` knows the places on disk; `csi_material` makes the requests. If the driver
is not registered, or refused the call for good, nothing of the attempt stays on disk. If the outcome of a failed call
is unknown, the note stays, so that a later call makes or releases the volume.

A completed volume is published again only if the driver wants that. If the file system cannot be grown, the volume is
used at its present size, and the requester is told.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable

from config.objects import Pod
from runtime.cri.errors import StatusCode
from runtime.csi.capability import (
    Ability,
    Access,
    CsiDrivers,
    CsiNode,
    DriverVolumeStats,
    ExpandVolume,
    PublishVolume,
    StageVolume,
    Usage,
)
from runtime.files.directories import make_directories
from runtime.plugins.errors import PluginError
from runtime.stats.readings import FsReading
from runtime.volumes.capability import Say, VolumeCondition, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.csi_layout import (
    DIRECTORY_MODE,
    EPHEMERAL,
    PERSISTENT,
    CsiLayout,
    Note,
    device_name,
    forget,
    link,
    read_note,
    remove_empty,
    remove_note,
    remove_path,
    write_note,
)
from runtime.volumes.csi_material import READ_WRITE_ONCE_POD, CsiMaterial, Expansion, access_of, is_to_be_owned
from runtime.volumes.empty_dir import fs_group
from runtime.volumes.mounts import Mounts
from runtime.volumes.ownership import OwnershipProgress, give_to_group, ownership_of

_INFEASIBLE = frozenset({StatusCode.OUT_OF_RANGE, StatusCode.INVALID_ARGUMENT, StatusCode.NOT_FOUND})


class CsiPlugin(VolumePlugin):
    """See the module. `root`: the agent's directory."""

    source = "csi"

    def __init__(self, root: str, drivers: CsiDrivers, mounts: Mounts) -> None:
        self._layout = CsiLayout(root)
        self._drivers = drivers
        self._mounts = mounts

    # --- the part that pods share -----------------------------------------------------------------------------------

    def device_of(self, spec: VolumeSpec) -> str:
        material = _material(spec)
        return "" if material.ephemeral else device_name(material.driver, material.handle)

    def device_at(self, place: VolumePlace) -> str:
        note = read_note(self._note_directory(place))
        return note.device if note is not None else ""

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:
        material = _material(spec)
        driver = self._driver(material.driver)
        abilities = _abilities(driver)
        path, directory = self._staging(spec, material)
        before = read_note(directory)
        if before is not None and before.context != spec.context and READ_WRITE_ONCE_POD in spec.access_modes:
            # An agent that has died staged it for a pod with another label. No other pod has it.
            self._unstage(before, path, directory)
            before = None
        is_first = before is None
        # Also for drivers that stage nothing: the note is how the volume is known to be in use.
        write_note(directory, _note(spec, material))
        make_directories(os.path.dirname(path), DIRECTORY_MODE)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, DIRECTORY_MODE)  # the path is not looked at: it may be a dead mount, which the driver mends
        if Ability.STAGE_UNSTAGE_VOLUME not in abilities:
            return
        volume = StageVolume(
            handle=material.handle,
            path=path,
            access=access_of(spec, material, abilities, fs_group(pod)),
            publish_context=material.publish_context,
            attributes=material.attributes,
            secrets=material.stage_secrets,
        )
        try:
            driver.stage(volume)
        except PluginError as failure:
            if is_first and not failure.may_go_on:
                forget(path, directory)
            raise _refusal(failure) from None

    def unstage(self, device: str) -> None:
        for directory, note in list(self._layout.mount_notes()):
            if note.device == device:
                self._unstage(note, os.path.join(directory, "globalmount"), directory)
        for name, note in list(self._layout.device_notes()):
            if note.device == device:
                self._unstage(note, self._layout.staged_device(name), self._layout.device_note(name))
                user = self._layout.device_user(name, "-")
                for empty in (os.path.dirname(user), os.path.dirname(os.path.dirname(user))):
                    remove_empty(empty)

    def _unstage(self, note: Note, path: str, directory: str) -> None:
        driver = self._driver(note.driver)
        if Ability.STAGE_UNSTAGE_VOLUME in _abilities(driver):
            self._give_back(lambda: driver.unstage(note.handle, path), path)
        remove_path(path)
        remove_note(directory)

    def staged(self) -> tuple[str, ...]:
        mounts = {note.device for _, note in self._layout.mount_notes()}
        devices = {note.device for _, note in self._layout.device_notes()}
        return tuple(sorted(mounts | devices))

    def _staging(self, spec: VolumeSpec, material: CsiMaterial) -> tuple[str, str]:
        """The staging path of a volume, and the directory of its note."""
        if spec.block:
            return self._layout.staged_device(spec.name), self._layout.device_note(spec.name)
        path = self._layout.staged_mount(material.driver, material.handle)
        return path, os.path.dirname(path)

    # --- a pod's volume ---------------------------------------------------------------------------------------------

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        material = _material(spec)
        driver = self._driver(material.driver)
        abilities = _abilities(driver)
        path = self._published(place)
        access = access_of(spec, material, abilities, fs_group(pod))
        staging = self._staging(spec, material)[0] if self._is_staged(material, abilities) else ""
        if place.block:
            # Always: after a reboot the file may be there and mean another device.
            self._show_device(driver, spec, material, place, access, staging)
        elif material.republish or not self.is_usable(place):
            self._show_files(driver, spec, material, place, access, staging)
            # Each time: a driver that wants to be asked again writes anew, and what is new belongs to nobody's group.
            wanted = ownership_of(pod) if is_to_be_owned(spec, material, abilities) else None
            if wanted is not None:
                give_to_group(path, wanted, OwnershipProgress(say, spec.volume.name))
            write_note(place.directory, _note(spec, material, done="true"))
        if material.expand_bytes and not spec.read_only:
            self._expand(
                driver,
                abilities,
                ExpandVolume(
                    handle=material.handle,
                    path=path,
                    required_bytes=material.expand_bytes,
                    access=access,
                    staging_path=staging,
                    secrets=material.expand_secrets,
                ),
                spec,
                material,
                say,
            )
        return self.path_at(place)

    def path_at(self, place: VolumePlace) -> str:
        """The path that containers use: the link to the device, or the mount below the place."""
        return place.directory if place.block else self._published(place)

    def is_usable(self, place: VolumePlace) -> bool:
        path = self._published(place)
        if place.block:
            return os.path.islink(place.directory) and _has_mode(path, stat.S_ISBLK)
        note = read_note(place.directory)
        # A note outlives a reboot, a mount does not. And where its server has died, the driver may be able to mend it.
        return note is not None and bool(note.done) and self._is_mounted(path) and _has_mode(path, stat.S_ISDIR)

    def release(self, place: VolumePlace) -> None:
        directory = self._note_directory(place)
        note = read_note(directory)
        if note is None:
            return  # no driver was called
        driver = self._driver(note.driver)
        path = self._published(place)
        self._give_back(lambda: driver.unpublish(note.handle, path), path)
        remove_path(path)
        if place.block:
            user = self._layout.device_user(place.name, place.uid)
            if os.path.lexists(user):
                os.unlink(user)
            if not os.listdir(os.path.dirname(path)):
                remove_empty(os.path.dirname(path))
            if os.path.islink(place.directory):
                os.unlink(place.directory)
        else:
            remove_note(place.directory)

    def driver_of(self, place: VolumePlace) -> str:
        note = read_note(self._note_directory(place))
        return "" if note is None else note.driver

    def measure(self, place: VolumePlace) -> FsReading | None:
        stats = self._stats(place)
        return None if stats is None else _reading(stats, time.time_ns())

    def _stats(self, place: VolumePlace) -> DriverVolumeStats | None:
        """The driver's statistics of a pod's volume; None when it does not measure."""
        note = read_note(self._note_directory(place))
        if note is None:
            return None
        driver = self._driver(note.driver)
        if Ability.GET_VOLUME_STATS not in _abilities(driver):
            return None
        staging = "" if place.block or note.device == "" else self._layout.staged_mount(note.driver, note.handle)
        try:
            return driver.stats(note.handle, self._published(place), staging)
        except PluginError as failure:
            raise _refusal(failure) from None

    def condition(self, place: VolumePlace) -> VolumeCondition | None:
        note = read_note(self._note_directory(place))
        if note is None or Ability.VOLUME_CONDITION not in _abilities(self._driver(note.driver)):
            return None
        stats = self._stats(place)
        if stats is None or stats.abnormal is None:
            return None
        return VolumeCondition(stats.abnormal, stats.condition)

    def _published(self, place: VolumePlace) -> str:
        if place.block:
            return self._layout.published_device(place.name, place.uid)
        return self._layout.published_mount(place)

    def _note_directory(self, place: VolumePlace) -> str:
        return self._layout.device_note(place.name) if place.block else place.directory

    @staticmethod
    def _is_staged(material: CsiMaterial, abilities: frozenset[Ability]) -> bool:
        return not material.ephemeral and Ability.STAGE_UNSTAGE_VOLUME in abilities

    def _show_files(
        self, driver: CsiNode, spec: VolumeSpec, material: CsiMaterial, place: VolumePlace, access: Access, staging: str
    ) -> None:
        path = self._published(place)
        known = read_note(place.directory)
        write_note(place.directory, _note(spec, material, done="" if known is None else known.done))
        try:
            driver.publish(_publication(spec, material, path, access, staging))
        except PluginError as failure:
            if known is None and not failure.may_go_on:
                forget(path, place.directory)
            raise _refusal(failure) from None

    def _show_device(
        self, driver: CsiNode, spec: VolumeSpec, material: CsiMaterial, place: VolumePlace, access: Access, staging: str
    ) -> None:
        path = self._published(place)
        write_note(self._layout.device_note(spec.name), _note(spec, material))
        make_directories(os.path.dirname(path), DIRECTORY_MODE)
        # The links still dangle. They let the next agent find the volume if this one dies.
        link(path, self._layout.device_user(spec.name, place.uid))
        link(path, place.directory)
        try:
            driver.publish(_publication(spec, material, path, access, staging))
        except PluginError as failure:
            raise _refusal(failure) from None

    def _expand(
        self,
        driver: CsiNode,
        abilities: frozenset[Ability],
        volume: ExpandVolume,
        spec: VolumeSpec,
        material: CsiMaterial,
        say: Say,
    ) -> None:
        size, error, infeasible = volume.required_bytes, "", False
        if Ability.EXPAND_VOLUME in abilities:
            try:
                size = max(size, driver.expand(volume))
            except PluginError as failure:
                size, error, infeasible = 0, str(failure), failure.code in _INFEASIBLE
            if error:
                say("Warning", "VolumeResizeFailed", f'NodeExpandVolume failed for volume "{spec.name}" : {error}')
            else:
                text = f'NodeExpandVolume succeeded for volume "{spec.name}" {material.node}'.rstrip()
                say("Normal", "FileSystemResizeSuccessful", text)
        if material.expanded is not None:
            material.expanded(Expansion(size, error, infeasible))

    def _give_back(self, call: Callable[[], None], path: str) -> None:
        """Unpublish or unstage.

        A driver that knows no such volume has nothing to give back, unless it is mounted.
        """
        try:
            call()
        except PluginError as failure:
            if failure.code != StatusCode.NOT_FOUND or self._is_mounted(path):
                raise _refusal(failure) from None

    def _is_mounted(self, path: str) -> bool:
        above, name = os.path.split(path)
        return os.path.join(os.path.realpath(above), name) in self._mounts.below(path)

    def _driver(self, name: str) -> CsiNode:
        driver = self._drivers.find(name)
        if driver is None:
            raise VolumeFailedError(f"driver name {name} not found in the list of registered CSI drivers")
        return driver


def _material(spec: VolumeSpec) -> CsiMaterial:
    if not isinstance(spec.material, CsiMaterial):
        raise VolumeFailedError("the request to its driver is not known yet")
    return spec.material


def _abilities(driver: CsiNode) -> frozenset[Ability]:
    try:
        return driver.abilities()
    except PluginError as failure:
        raise _refusal(failure) from None


def _reading(stats: DriverVolumeStats, at_ns: int) -> FsReading:
    """Missing values are zero, as kubelets show them.

    Raises VolumeFailedError for an empty answer.
    """
    if stats.space == stats.inodes == Usage():
        raise VolumeFailedError("the driver tells no usage of the volume")
    space, inodes = stats.space, stats.inodes
    return FsReading(
        at_ns,
        capacity=space.total or 0,
        available=space.available or 0,
        used=space.used or 0,
        inodes=inodes.total or 0,
        inodes_free=inodes.available or 0,
        inodes_used=inodes.used or 0,
    )


def _note(spec: VolumeSpec, material: CsiMaterial, done: str = "") -> Note:
    return Note(
        driver=material.driver,
        handle=material.handle,
        name=spec.name,
        node=material.node,
        attachment=material.attachment,
        lifecycle=EPHEMERAL if material.ephemeral else PERSISTENT,
        context=spec.context,
        done=done,
    )


def _publication(spec: VolumeSpec, material: CsiMaterial, path: str, access: Access, staging: str) -> PublishVolume:
    return PublishVolume(
        handle=material.handle,
        path=path,
        access=access,
        staging_path=staging,
        read_only=spec.read_only,
        publish_context=material.publish_context,
        attributes={**material.attributes, **material.pod_attributes},
        secrets=material.publish_secrets,
    )


def _has_mode(path: str, check: Callable[[int], bool]) -> bool:
    try:
        return check(os.stat(path).st_mode)
    except OSError:
        return False


def _refusal(failure: PluginError) -> VolumeFailedError:
    return VolumeFailedError(str(failure))
