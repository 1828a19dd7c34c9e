"""How long a verb may take when its caller sets no timeout (spec 2.1, `runtimeRequestTimeout`).

Most verbs get the base. A verb with a waiting time of its own gets that on top. A pull has no limit here: its caller
watches the progress and cancels.
"""

from __future__ import annotations

from typing import Any

from runtime.cri.messages import CheckpointContainerRequest, CriMessage, ExecSyncRequest, StopContainerRequest
from runtime.cri.verbs import PULL_IMAGE, RUN_POD_SANDBOX, Verb

DEFAULT_TIMEOUT_NS = 2 * 60 * 10**9
_SECOND_NS = 10**9


def deadline_ns(verb: Verb[Any, Any], request: CriMessage, base_ns: int = DEFAULT_TIMEOUT_NS) -> int | None:
    """The time for `verb` with `request` in nanoseconds; None is no limit."""
    if verb == PULL_IMAGE or verb.streaming:
        return None
    if verb == RUN_POD_SANDBOX:
        return 2 * base_ns  # the network plugin may take as long as the runtime itself
    if isinstance(request, ExecSyncRequest):
        return base_ns + request.timeout * _SECOND_NS if request.timeout > 0 else None
    if isinstance(request, StopContainerRequest | CheckpointContainerRequest):
        return base_ns + max(0, request.timeout) * _SECOND_NS
    return base_ns
