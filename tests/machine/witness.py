"""A log of the host in which containers of a machine record their starts and ends, in order.

It outlives the machine.
"""

from __future__ import annotations

from typing import Any

from tests.machine.machine import Machine
from tests.real.pods import container, pod


class Witness:
    """`/host/witness/log` of a machine: lines `NAME begins` and `NAME ends`."""

    volume = {"name": "witness", "hostPath": {"path": "/host/witness"}}
    mount = {"name": "witness", "mountPath": "/witness"}

    def __init__(self, machine: Machine) -> None:
        self._log = machine.shared / "witness" / "log"
        self._log.parent.mkdir(exist_ok=True)
        self._log.touch()

    def pod(self, name: str, *, after_s: float = 0.0, deaf: bool = False, **spec: Any) -> dict[str, Any]:
        """One that takes `after_s` to end when it is told to; a deaf one does not."""
        heard = "" if deaf else f"sleep {after_s}; echo {name} ends >> /witness/log; exit 0"
        script = f"trap '{heard}' TERM; echo {name} begins >> /witness/log; while true; do sleep 1000000 & wait; done"
        return pod(name, container(script=script, volumeMounts=[self.mount]), volumes=[self.volume], **spec)

    def said(self, word: str = "") -> list[str]:
        """The lines so far, or the names whose line has this word."""
        lines = self._log.read_text().splitlines()
        return [line.split()[0] for line in lines if line.endswith(f" {word}")] if word else lines

    def forget(self) -> None:
        self._log.write_text("")
