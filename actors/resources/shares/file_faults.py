"""What stops an agent that finds a state file it must not take, in the words of a kubelet."""

from __future__ import annotations


class StateFileError(Exception):
    """The file cannot be used. The text says why, and what to do."""

    def __init__(self, manager: str, path: str, reason: str) -> None:
        self.manager = manager
        self.reason = reason
        self.fault = f"could not restore state from checkpoint: {reason}"
        file = f'{manager} manager checkpoint file "{path}"'
        self.way_out = f"please drain this node and delete the {file} before restarting Kubelet"
        super().__init__(f"{self.fault}, {self.way_out}")


def check_policy(manager: str, path: str, configured: str, found: str) -> None:
    """A file of another policy describes pods that were served by other rules. Raises StateFileError."""
    if configured != found:
        reason = f'configured policy "{configured}" differs from state checkpoint policy "{found}"'
        raise StateFileError(manager, path, reason)
