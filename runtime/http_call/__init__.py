"""One GET as a node makes it, for probes and hooks (spec 5, 3.11): one connection, no more read than is shown."""

from __future__ import annotations

from runtime.http_call.call import HttpAnswer, HttpCallError, get

__all__ = ["HttpAnswer", "HttpCallError", "get"]
