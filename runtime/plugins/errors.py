"""What a plugin's call fails with, for those who ask one by any way; nothing here imports gRPC."""

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
        """The plugin may still be at it, or have done it: nothing is known of what was asked (spec 8.8, "uncertain").

        Every other code is a plugin's final word: what was asked is not done.
        """
        return self.code in _MAY_GO_ON
