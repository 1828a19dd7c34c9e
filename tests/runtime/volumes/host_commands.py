"""Programs of the host that are only played: what was run is noted, and answered as the test says."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.volumes.commands import CommandResult, HostCommand


class PlayedCommands:
    """`answers`: the first word of a command -> how it ends; others end well."""

    def __init__(self, answers: Mapping[str, CommandResult] | None = None) -> None:
        self.ran: list[HostCommand] = []
        self.answers = dict(answers or {})

    def run(self, command: HostCommand, timeout_s: float) -> CommandResult:
        self.ran.append(command)
        return self.answers.get(command.program, CommandResult(0, ""))

    @property
    def lines(self) -> list[str]:
        return [str(command) for command in self.ran]
