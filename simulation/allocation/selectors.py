"""Asks whether rules in CEL select devices, and remembers the answers.

A rule is evaluated for many devices at once. The commonest, `device.driver == "NAME"`, is understood without the
library for CEL, which is optional. Other rules raise UnmetError without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from config.caches import MIB, KeptBytes
from simulation.allocation.offered import Device
from simulation.allocation.wanted import Selector, UnmetError
from simulation.validations.device_functions import QUANTITY, VERSION

NO_CEL = "the simulated scheduler reads rules in CEL with actorlet[cel] alone, which is not installed"
TOGETHER = 200
"""Devices in one evaluation, whose time is limited."""
_ANSWERS_BYTES = 4 * MIB
_OF_DRIVER = re.compile(r"""\s{0,99}device\.driver\s{0,99}==\s{0,99}(?:"([^"\\]{1,256})"|'([^'\\]{1,256})')\s{0,99}""")
_PLAIN = ("bool", "int", "string")
_encode = msgspec.json.Encoder().encode

Held = tuple[bool | None, str]


class Evaluates(Protocol):
    """`validations.program.RuleProgram`, as far as it is asked here."""

    def select(self, expression: str, devices: Sequence[Mapping[str, Any]]) -> list[Held]: ...


class Selectors:
    """See the module. `program`: None without the library."""

    def __init__(self, program: Evaluates | None) -> None:
        self._program = program
        self._answers: KeptBytes[tuple[str, bytes], Held] = KeptBytes(_ANSWERS_BYTES)

    def selected(self, rules: Sequence[Selector], devices: Sequence[Device]) -> list[Device]:
        """Those that all rules select. Raises UnmetError if a rule cannot be evaluated."""
        for rule in rules:
            answers = self._of(rule.expression, devices)
            why = next((why for held, why in answers if held is None), "")
            if why:
                raise UnmetError(f"{rule.where}: {why}")
            devices = [device for device, (held, _) in zip(devices, answers, strict=True) if held]
        return list(devices)

    def _of(self, expression: str, devices: Sequence[Device]) -> list[Held]:
        of_driver = _OF_DRIVER.fullmatch(expression)
        if of_driver is not None:
            name = of_driver[1] or of_driver[2]
            return [(device.id.driver == name, "") for device in devices]
        keys = [(expression, _encode(as_cel(device))) for device in devices]
        found = {key: held for key in keys if (held := self._kept(key)) is not None}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        for first in range(0, len(missing), TOGETHER):
            some = missing[first : first + TOGETHER]
            if self._program is None:
                raise UnmetError(NO_CEL)
            answers = self._program.select(expression, [msgspec.json.decode(text) for _, text in some])
            for key, held in zip(some, answers, strict=True):
                found[key] = held
                self._answers.keep(key, held)
        return [found[key] for key in keys]

    def _kept(self, key: tuple[str, bytes]) -> Held | None:
        try:
            return self._answers[key]
        except KeyError:
            return None


def as_cel(device: Device) -> dict[str, Any]:
    """The variable `device` of a rule, as JSON."""
    attributes: dict[str, dict[str, Any]] = {}
    for name, (kind, value) in device.attributes.items():
        domain, _, last = name.rpartition("/")
        attributes.setdefault(domain, {})[last] = value if kind in _PLAIN else {VERSION: value}
    capacity: dict[str, dict[str, Any]] = {}
    for name, amount in device.capacity.items():
        domain, _, last = name.rpartition("/")
        capacity.setdefault(domain, {})[last] = {QUANTITY: str(amount.value.nanos)}
    return {
        "driver": device.id.driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": device.shared,
    }
