"""One GET on a connection of its own, for probes, hooks (spec 5, 3.11) and manifests by URL (spec 1.1).

`request` writes requests and follows redirects; `call` makes the GET of a probe or a hook.
"""

from __future__ import annotations

from runtime.http_call.call import HttpAnswer, HttpCallError, get

__all__ = ["HttpAnswer", "HttpCallError", "get"]
