"""Sessions with iscsi targets, by the host's `iscsiadm`.

The orders are those of a kubelet, in its order (pkg/volume/iscsi).

A disk may be reached by several portals. One that answers is enough; the others are tried again while the first ones
are there. Two volumes of one target do not log in and out at the same time.

Values of iscsiadm follow their options, so none can be read as an option. A password is one of them, as iscsiadm takes
it no other way; no error shows it.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from weakref import WeakValueDictionary

from runtime.volumes.capability import VolumeFailedError
from runtime.volumes.commands import NOT_FOUND, CommandResult, Commands, HostCommand
from runtime.volumes.scsi.iscsi_target import IscsiTarget
from runtime.volumes.scsi.scsi_disks import BY_PATH, ScsiDisks

ADMIN_S = 100.0
"""The tool itself gives up a portal that does not answer after a while."""
DEVICE_TRIES = 30
MULTIPATH_TRIES = 10
ROUNDS = 5
ENOUGH_PATHS, ENOUGH_ROUNDS = 2, 2
"""After so many rounds so many paths will do."""
_EXISTS = 15
_NOTHING_THERE = (2, 21)
"""No such session; no such record."""
_OUTPUT_CHARACTERS = 16_384
_CHAP_KEYS = ("username", "password", "username_in", "password_in")
_DISCOVERY, _SESSION = "discovery.sendtargets.auth.", "node.session.auth."
_SETTING = re.compile(r"(iface\.\S+) = (.*)")
_EMPTY = "<empty>"
TCP = "tcp"


class IscsiSessions:
    """See the module. `pause` waits for so many seconds."""

    def __init__(self, commands: Commands, disks: ScsiDisks, pause: Callable[[float], None] = time.sleep) -> None:
        self._commands = commands
        self._disks = disks
        self._pause = pause
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        """Those that somebody holds or waits for."""

    def attach(self, target: IscsiTarget, secrets: Mapping[str, str]) -> str:
        """Log in, and wait for the disk; its device. May be repeated."""
        settings = self._interface(target)
        transport = settings.get("iface.transport_name", "")
        if not transport:
            raise VolumeFailedError(f"the interface {target.interface} of iscsiadm has no transport")
        if target.initiator:
            self._make_interface(target, settings)
        with self._lock(target.iqn):
            devices = self._reach(target, secrets, any_bus=transport not in (TCP, _EMPTY))
        # With one portal there may be a device of several paths all the same, but nobody waits for it.
        for turn in range(MULTIPATH_TRIES if len(target.portals) > 1 else 1):
            if turn:
                self._pause(1)
            if found := next(filter(None, map(self._disks.multipath_of, devices)), ""):
                return found
        return devices[0]

    def device_of(self, target: IscsiTarget) -> str:
        """The device of a disk that is attached; empty when it is not."""
        for device in self._disks.iscsi_disks(target.iqn, target.lun):
            return self._disks.multipath_of(device) or device
        return ""

    def detach(self, target: IscsiTarget, *, is_last: Callable[[], bool]) -> None:
        """Take the disk off the node, and log out if no other disk of the target is in use."""
        devices = self._disks.iscsi_disks(target.iqn, target.lun)
        for multipath in sorted({found for found in map(self._disks.multipath_of, devices) if found}):
            flush_multipath(self._commands, multipath)
        for device in devices:
            self._disks.delete(device)
        with self._lock(target.iqn):
            if is_last():
                self._log_out(target)

    def has_session(self, target: IscsiTarget) -> bool:
        return bool(self._disks.iscsi_hosts(target.iqn))

    def _lock(self, iqn: str) -> threading.Lock:
        with self._guard:
            lock = self._locks.get(iqn)
            if lock is None:
                lock = self._locks[iqn] = threading.Lock()
            return lock

    # --- interfaces -------------------------------------------------------------------------------------------------

    def _interface(self, target: IscsiTarget) -> Mapping[str, str]:
        ended = self._run("-m", "iface", "-I", target.interface, "-o", "show")
        if ended.code != 0:
            advice = "; install open-iscsi" if ended.code == NOT_FOUND else ""
            text = f"the interface {target.interface} of iscsiadm cannot be read ({ended.code}): {ended.output}{advice}"
            raise VolumeFailedError(text)
        return {found[1]: found[2] for found in map(_SETTING.fullmatch, ended.output.splitlines()) if found}

    def _make_interface(self, target: IscsiTarget, settings: Mapping[str, str]) -> None:
        """Copy the interface, with the name by which the volume wants the node to come."""
        name = target.own_interface
        ended = self._run("-m", "iface", "-I", name, "-o", "new")
        if ended.code not in (0, _EXISTS):
            raise VolumeFailedError(f"the interface {name} of iscsiadm cannot be made ({ended.code}): {ended.output}")
        copied = {key: value for key, value in settings.items() if value != _EMPTY and key != "iface.iscsi_ifacename"}
        for key, value in sorted({**copied, "iface.initiatorname": target.initiator}.items()):
            ended = self._run("-m", "iface", "-I", name, "-o", "update", "-n", key, "-v", value)
            if ended.code != 0:
                self._run("-m", "iface", "-I", name, "-o", "delete")
                raise VolumeFailedError(f"{key} of the interface {name} cannot be set ({ended.code}): {ended.output}")

    # --- logging in -------------------------------------------------------------------------------------------------

    def _reach(self, target: IscsiTarget, secrets: Mapping[str, str], *, any_bus: bool) -> list[str]:
        """The devices of the paths that there are, in the order of the portals."""
        found: dict[str, str] = {}
        trouble = ""
        for turn in range(1, ROUNDS + 1):
            for portal in target.portals:
                if portal not in found:
                    try:
                        found[portal] = self._path(target, portal, secrets, any_bus=any_bus)
                    except VolumeFailedError as failure:
                        trouble = str(failure)
            if not found:
                if target.initiator:
                    self._run("-m", "iface", "-I", target.own_interface, "-o", "delete")
                raise VolumeFailedError(f"failed to get any path for iscsi disk, last err seen:\n{trouble}")
            if len(found) == len(target.portals) or (len(found) >= ENOUGH_PATHS and turn >= ENOUGH_ROUNDS):
                break
        return [found[portal] for portal in target.portals if portal in found]

    def _path(self, target: IscsiTarget, portal: str, secrets: Mapping[str, str], *, any_bus: bool) -> str:
        host = self._disks.iscsi_hosts(target.iqn).get(portal)
        if host is None:
            self._log_in(target, portal, secrets)
            host = self._disks.iscsi_hosts(target.iqn).get(portal)
        if host is None:
            raise VolumeFailedError(f"there is no session with portal {portal}, though the login has succeeded")
        try:
            self._disks.scan(host, target.lun)
        except OSError as failure:
            raise VolumeFailedError(f"SCSI host {host} cannot be scanned: {failure.strerror}") from None
        link = target.link.format(portal=portal)
        for turn in range(DEVICE_TRIES):
            if turn:
                self._pause(1)
            if device := self._disks.named(BY_PATH, link, any_bus=any_bus):
                return device
        raise VolumeFailedError(f"Timed out waiting for device at path {BY_PATH}/{link} after {DEVICE_TRIES}s")

    def _log_in(self, target: IscsiTarget, portal: str, secrets: Mapping[str, str]) -> None:
        interface = ("-I", target.own_interface)
        discovery = ("-m", "discoverydb", "-t", "sendtargets", "-p", portal, *interface)
        node = ("-m", "node", "-p", portal, "-T", target.iqn, *interface)
        self._run(*discovery, "-o", "new")
        if target.chap_discovery:
            self._set_passwords(discovery, _DISCOVERY, secrets)
        ended = self._run(*discovery, "--discover")
        if ended.code != 0:
            self._run(*discovery, "-o", "delete")
            raise VolumeFailedError(f"failed to sendtargets to portal {portal} ({ended.code}): {ended.output}")
        # Only the disk of the volume is to come to the node, not all of the target. Old versions cannot do that.
        self._run(*node, "-o", "update", "-n", "node.session.scan", "-v", "manual")
        if target.chap_session:
            self._set_passwords(node, _SESSION, secrets)
        ended = self._run(*node, "--login")
        if ended.code not in (0, _EXISTS):
            self._run(*node, "-o", "delete")
            raise VolumeFailedError(f"failed to log in to portal {portal} ({ended.code}): {ended.output}")
        # A node that boots must not wait for a target of a pod.
        self._run(*node[:6], "-o", "update", "-n", "node.startup", "-v", "manual")

    def _set_passwords(self, record: tuple[str, ...], prefix: str, secrets: Mapping[str, str]) -> None:
        values = {prefix + key: secrets.get(prefix + key, "") for key in _CHAP_KEYS}
        for key, value in {f"{prefix}authmethod": "CHAP", **values}.items():
            if value and (ended := self._run(*record, "-o", "update", "-n", key, "-v", value)).code != 0:
                raise VolumeFailedError(f"iscsiadm cannot set {key} ({ended.code})")

    def _log_out(self, target: IscsiTarget) -> None:
        words = ("-I", target.own_interface)
        for portal in target.portals:
            node = ("-m", "node", "-p", portal, "-T", target.iqn)
            for order in (("--logout",), ("-o", "delete")):
                self._end(target, *node, *order, *words)
        if target.initiator:
            self._end(target, "-m", "iface", *words, "-o", "delete")

    def _end(self, target: IscsiTarget, *words: str) -> None:
        ended = self._run(*words)
        if ended.code == NOT_FOUND and not self.has_session(target):
            return
        if ended.code not in (0, *_NOTHING_THERE):
            raise VolumeFailedError(f"iscsiadm {' '.join(words)} failed ({ended.code}): {ended.output}")

    def _run(self, *words: str) -> CommandResult:
        return self._commands.run(HostCommand("iscsiadm", words, output_characters=_OUTPUT_CHARACTERS), ADMIN_S)


def flush_multipath(commands: Commands, device: str) -> None:
    """Write what a device of several paths holds, and take it apart. Raises VolumeFailedError."""
    command = HostCommand("multipath", ("-f",), (device,))
    ended = commands.run(command, ADMIN_S)
    if ended.code != 0:
        advice = "; install multipath-tools" if ended.code == NOT_FOUND else ""
        raise VolumeFailedError(f"{command} failed ({ended.code}): {ended.output}{advice}")
