"""flexVolume: volumes that a driver program of the node mounts (`volumePluginDir`).

A driver `vendor/name` is the program `vendor~name/name` in that directory; an administrator puts it there. It is called
as `init`, `mount <directory> <options as JSON>` and `unmount <directory>`, and answers with JSON. A pod only names one
of the programs that are there; it can name no path.

Drivers that attach their volumes to nodes are refused, because nothing attaches for them here. So are secrets for
drivers.
"""

from __future__ import annotations

import json
import os
import re

import msgspec

from config.objects import FlexVolumeSource, Pod
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.volumes.capability import Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.commands import Commands, HostCommand
from runtime.volumes.empty_dir import make_directory
from runtime.volumes.mounts import Mounts
from runtime.volumes.ownership import OwnershipProgress, give_to_group, ownership_of

INIT_S = 30.0
MOUNT_S = 110.0
UNMOUNT_S = 30.0
SUCCESS, NOT_SUPPORTED = "Success", "Not supported"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?")
_BUILT_IN = frozenset(kind.plugin for kind in VOLUME_SOURCES.values())


class Capabilities(msgspec.Struct, frozen=True):
    """The abilities that a driver reports. Omitted ones count as present, as on a kubelet."""

    attach: bool = True
    fs_group: bool = msgspec.field(default=True, name="fsGroup")


class DriverAnswer(msgspec.Struct, frozen=True):
    status: str = ""
    message: str = ""
    capabilities: Capabilities = Capabilities()


_decode_answer = msgspec.json.Decoder(DriverAnswer).decode


class FlexPlugin(VolumePlugin):
    """See the module. `directory`: of the drivers."""

    source = "flex_volume"

    def __init__(self, directory: str, mounts: Mounts, commands: Commands) -> None:
        self._directory = directory
        self._mounts = mounts
        self._commands = commands
        self._begun: dict[tuple[str, int], Capabilities] = {}
        """By program and the time of its change: a new version is asked again."""

    def name_of(self, spec: VolumeSpec) -> str:
        driver = flex_source(spec).driver
        if not _NAME.fullmatch(driver) or driver in _BUILT_IN:
            raise VolumeFailedError(f"{driver!r} cannot be the name of a FlexVolume driver; write vendor/name")
        return driver

    def owns(self, place: VolumePlace) -> bool:
        return place.plugin not in _BUILT_IN and bool(self._program(place.plugin))

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        source = flex_source(spec)
        if spec.block:
            raise VolumeFailedError("a flexVolume cannot be a device", "FailedMapVolume")
        if source.secret_ref is not None:
            raise VolumeFailedError("a flexVolume with a secretRef is not supported; give the driver its secret itself")
        if self.is_usable(place):
            return place.directory
        program = self._program(source.driver)
        if not program:
            raise VolumeFailedError(f"there is no FlexVolume driver {source.driver!r} in {self._directory}")
        can = self._capabilities(source.driver, program)
        if can.attach:
            raise VolumeFailedError(
                f"the FlexVolume driver {source.driver!r} attaches its volumes, which is not supported; "
                'drivers that answer init with {"capabilities": {"attach": false}} are'
            )
        make_directory(place.directory)
        try:
            self._ask(program, MOUNT_S, "mount", place.directory, json.dumps(options_of(pod, spec)))
        except VolumeFailedError:
            if not self.is_usable(place):
                os.rmdir(place.directory)
            raise
        wanted = ownership_of(pod)
        if can.fs_group and wanted is not None and not _is_read_only(spec):
            give_to_group(place.directory, wanted, OwnershipProgress(say, spec.volume.name))
        return place.directory

    def is_usable(self, place: VolumePlace) -> bool:
        return place.directory in self._mounts.below(place.directory)

    def release(self, place: VolumePlace) -> None:
        program = self._program(place.plugin)
        if program and os.path.isdir(place.directory):
            # Where the driver cannot, the caller unmounts what is there.
            self._ask(program, UNMOUNT_S, "unmount", place.directory, accepted=(SUCCESS, NOT_SUPPORTED))

    def _program(self, driver: str) -> str:
        """The path of a driver's program; empty when there is none."""
        if not _NAME.fullmatch(driver):
            return ""
        path = os.path.join(self._directory, driver.replace("/", "~"), driver.rpartition("/")[2])
        return path if os.path.isfile(path) and os.access(path, os.X_OK) else ""

    def _capabilities(self, driver: str, program: str) -> Capabilities:
        key = program, os.stat(program).st_mtime_ns
        if key not in self._begun:
            self._begun[key] = self._ask(program, INIT_S, "init").capabilities
        return self._begun[key]

    def _ask(self, program: str, limit_s: float, *words: str, accepted: tuple[str, ...] = (SUCCESS,)) -> DriverAnswer:
        """Call a driver. Raises VolumeFailedError for every answer but the accepted ones.

        The words are a verb, a path of ours and a JSON object: none begins with a dash, and drivers know no `--`.
        """
        command = HostCommand(program, words)
        ended = self._commands.run(command, limit_s)
        try:
            answer = _decode_answer(ended.output)
        except msgspec.DecodeError:
            said = f"its answer is not JSON: {ended.output or 'nothing'}"
            raise VolumeFailedError(f"{program} {words[0]} failed ({ended.code}), {said}") from None
        if answer.status not in accepted:
            told = answer.message or answer.status or f"status {ended.code}"
            raise VolumeFailedError(f"{program} {words[0]} failed: {told}")
        return answer


def flex_source(spec: VolumeSpec) -> FlexVolumeSource:
    """The source of the persistent volume, if any, or of the pod's volume. Pure. Raises VolumeFailedError."""
    source = spec.volume.flex_volume if spec.persistent is None else spec.persistent.spec.flex_volume
    if source is None or not source.driver:
        raise VolumeFailedError("a flexVolume needs a driver")
    return source


def options_of(pod: Pod, spec: VolumeSpec) -> dict[str, str]:
    """The options of a volume for its driver. The volume's own options win, as on a kubelet. Pure."""
    source = flex_source(spec)
    told = {
        "kubernetes.io/fsType": source.fs_type or "",
        "kubernetes.io/readwrite": "ro" if _is_read_only(spec) else "rw",
        "kubernetes.io/pvOrVolumeName": spec.name,
        "kubernetes.io/pod.name": pod.metadata.name,
        "kubernetes.io/pod.namespace": pod.metadata.namespace,
        "kubernetes.io/pod.uid": pod.metadata.uid,
        "kubernetes.io/serviceAccount.name": pod.spec.service_account_name or "",
    }
    wanted = ownership_of(pod)
    if wanted is not None:
        told["kubernetes.io/mounterArgs.FsGroup"] = str(wanted.group)
    return {**told, **source.options}


def _is_read_only(spec: VolumeSpec) -> bool:
    return spec.read_only or bool(flex_source(spec).read_only)
