"""The error of a plugin's call. This module does not import gRPC."""

from __future__ import annotations

from runtime.cri.errors import StatusCode

_MAY_GO_ON = frozenset(
    {
        StatusCode.CANCELLED,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.UNAVAILABLE,
        StatusCode.RESOURCE_EXHAUSTED,
        StatusCode.ABORTED,
    }
)


class PluginError(Exception):
    """A call failed. `method` such as "NodePublishVolume"."""

    def __init__(self, code: StatusCode, message: str, method: str) -> None:
        super().__init__(code, message, method)
        self.code = code
        self.message = message
        self.method = method

    def __str__(self) -> str:
        return f"rpc error: {self.method}: code = {self.code.name} desc = {self.message or 'no reason given'}"

    @property
    def may_go_on(self) -> bool:
        """Whether the operation may still run, or may have been done (spec 8.8, "uncertain").

        Every other code is a plugin's final answer: the operation was not done.
        """
        return self.code in _MAY_GO_ON
