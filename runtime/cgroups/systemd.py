"""`SystemdCgroups`: cgroups where systemd manages them, as slices (spec 10.2).

Systemd makes and removes the directories that it manages, and is told what it has properties for; the kernel's files
say the rest. Nothing is made in systemd's tree behind its back: a slice that it could not be told of stays away, and
the reason is told.
"""

from __future__ import annotations

import threading

from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.local import LocalCgroups
from runtime.cgroups.names import SYSTEMD, Words, name_of
from runtime.cgroups.slices import limit_properties, new_slice
from runtime.cgroups.systemd_units import NoSuchUnitError, SystemdError, SystemdUnits


class SystemdCgroups:
    """See the module. `files`: the same tree as directories, named as systemd names it; of the `version` given."""

    def __init__(self, units: SystemdUnits, files: LocalCgroups, version: int) -> None:
        self._units = units
        self._files = files
        self._version = version
        self._guard = threading.Lock()
        self._known: set[str] = set()
        """Units that systemd is known to have."""

    def problems(self) -> tuple[str, ...]:
        try:
            self._units.version()
        except SystemdError as error:
            return (*self._files.problems(), str(error))
        return self._files.problems()

    def name(self, words: Words) -> str:
        return self._files.name(words)

    def exists(self, words: Words) -> bool:
        return self._files.exists(words)

    def pod_uids(self, words: Words) -> tuple[str, ...]:
        return self._files.pod_uids(words)

    def apply(self, words: Words, limits: CgroupLimits) -> tuple[str, ...]:
        if words:
            try:
                self._tell(words, limits)
            except SystemdError as error:
                return (str(error),)
        return self._files.apply(words, limits)

    def remove(self, words: Words) -> tuple[str, ...]:
        # Its processes first: systemd would ask them to end, one unit after the other, and wait.
        problems = self._files.remove(words)
        unit = name_of(words, SYSTEMD)
        with self._guard:
            self._known.discard(unit)
        try:
            self._units.stop(unit)
        except SystemdError as error:
            return (*problems, str(error))
        return self._files.remove(words) if problems else ()

    def _tell(self, words: Words, limits: CgroupLimits) -> None:
        """Have the slice, with these limits."""
        unit = name_of(words, SYSTEMD)
        wanted = limit_properties(limits, self._version, self._units.version())
        if unit in self._known and self._files.exists(words):
            if not wanted:
                return
            try:
                self._units.change(unit, wanted)
                return
            except NoSuchUnitError:
                pass  # somebody has stopped it
        if not self._units.start(unit, (*new_slice(words, self._version), *wanted)) and wanted:
            self._units.change(unit, wanted)
        with self._guard:
            self._known.add(unit)
