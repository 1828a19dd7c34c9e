"""`SystemdCgroups`: cgroups as slices where systemd manages them (spec 10.2).

Systemd makes and removes the directories that it manages, and sets the limits it has properties for. The kernel's files
take the others. Nothing is made in systemd's tree without systemd: if it cannot be reached, the slice is not made, and
the error says why.
"""

from __future__ import annotations

import threading

from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.local import LocalCgroups
from runtime.cgroups.names import Words, unit_of
from runtime.cgroups.slices import limit_properties, new_slice
from runtime.cgroups.systemd_units import NoSuchUnitError, SystemdError, SystemdUnits


class SystemdCgroups:
    """`files`: the same tree as directories, with systemd's names. `version`: of cgroups."""

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
        # Kill its processes first: systemd would stop them one unit after the other, and wait.
        problems = self._files.remove(words)
        unit = unit_of(words)
        with self._guard:
            self._known.discard(unit)
        try:
            self._units.stop(unit)
        except SystemdError as error:
            return (*problems, str(error))
        return self._files.remove(words) if problems else ()

    def _tell(self, words: Words, limits: CgroupLimits) -> None:
        """Create the slice, or change it, to these limits."""
        unit = unit_of(words)
        wanted = limit_properties(limits, self._version, self._units.version())
        if unit in self._known and self._files.exists(words):
            if not wanted:
                return
            try:
                self._units.change(unit, wanted)
                return
            except NoSuchUnitError:
                pass  # the slice was stopped meanwhile
        if not self._units.start(unit, (*new_slice(words, self._version), *wanted)) and wanted:
            self._units.change(unit, wanted)
        with self._guard:
            self._known.add(unit)
