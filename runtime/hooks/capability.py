"""What a node can do for the httpGet hooks of its containers.

Commands go to the runtime; to sleep needs nobody.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from runtime.io.pending import PendingAnswer

HOOK_USER_AGENT = "kube-lifecycle/1.36"
"""What servers know the hooks of a kubelet by."""


class HookAnswer(msgspec.Struct, frozen=True, gc=False):
    """`error` is empty when somebody has answered, whatever the status code.

    `fell_back`: why the call was made again without TLS; empty when it was not.
    """

    error: str = ""
    fell_back: str = ""


class HookCaller(Protocol):
    """Who makes the HTTP calls of hooks."""

    def get(self, container_id: str, url: str, headers: tuple[tuple[str, str], ...]) -> PendingAnswer[HookAnswer]:
        """GET once; whoever has waited long enough cancels. Never blocks the caller, and never fails.

        `container_id` is for whoever plays a container. `headers` as the pod has them, in order; `Host` is one of them.
        """
