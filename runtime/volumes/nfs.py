"""nfs: a directory of a server, mounted for one pod by the host's `mount` (spec 8.7).

A look at the mount hangs if the server is dead. So this module never touches it: the kernel's mount table says whether
it is mounted. If the server does not answer for a while, the unmount is forced, and unwritten data is lost. No owner or
mode is changed: the server decides those.
"""

from __future__ import annotations

import ipaddress
import os

from config.objects import NFSVolumeSource, Pod
from config.values.name_rules import is_host
from runtime.volumes.capability import Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.commands import NOT_FOUND, Commands, HostCommand
from runtime.volumes.empty_dir import make_directory
from runtime.volumes.mount_options import joined_options
from runtime.volumes.mounts import Mounts

MOUNT_S = 110.0
UNMOUNT_S = 30.0


class NfsPlugin(VolumePlugin):
    source = "nfs"

    def __init__(self, mounts: Mounts, commands: Commands) -> None:
        self._mounts = mounts
        self._commands = commands

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        directory = place.directory
        if spec.block:
            raise VolumeFailedError("an nfs volume cannot be a device", "FailedMapVolume")
        if self.is_usable(place):
            return directory
        make_directory(directory)
        command = mount_command(spec, directory)
        ended = self._commands.run(command, MOUNT_S)
        if ended.code != 0:
            os.rmdir(directory)
            advice = "; install nfs-common" if ended.code == NOT_FOUND or "helper program" in ended.output else ""
            raise VolumeFailedError(f"{command} failed ({ended.code}): {ended.output}{advice}")
        return directory

    def is_usable(self, place: VolumePlace) -> bool:
        return place.directory in self._mounts.below(place.directory)

    def release(self, place: VolumePlace) -> None:
        directory = place.directory
        if not self.is_usable(place):
            return
        if self._commands.run(HostCommand("umount", ("--no-canonicalize",), (directory,)), UNMOUNT_S).code != 0:
            self._mounts.unmount(directory, force=True)


def mount_command(spec: VolumeSpec, directory: str) -> HostCommand:
    """How the volume is mounted. Pure. Raises VolumeFailedError.

    `mount` hands its source to `mount.nfs`, where it could be read as an option again. So the server must be a host
    name or an address, and the path absolute.
    """
    source = nfs_source(spec)
    if source is None or not source.server or not source.path:
        raise VolumeFailedError("an nfs volume needs a server and a path")
    if not is_host(source.server):
        raise VolumeFailedError(
            f"the nfs server {source.server!r} is not a host name or an address; write it like nfs.example.org"
        )
    if not source.path.startswith("/"):
        raise VolumeFailedError(f"the nfs path {source.path!r} must begin with /")
    options = joined_options(spec.mount_options, read_only=source.read_only or spec.read_only)
    chosen = ("-o", options) if options else ()
    return HostCommand("mount", ("-t", "nfs", *chosen), (f"{_host(source.server)}:{source.path}", directory))


def nfs_source(spec: VolumeSpec) -> NFSVolumeSource | None:
    """The NFS source: that of the persistent volume where there is one, else the pod's own. Pure."""
    return spec.volume.nfs if spec.persistent is None else spec.persistent.spec.nfs


def _host(server: str) -> str:
    """The server as `mount` takes it: an IPv6 address is put in brackets."""
    try:
        return f"[{server}]" if ipaddress.ip_address(server).version == 6 else server
    except ValueError:
        return server
