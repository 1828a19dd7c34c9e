"""Which calls the client makes again by itself. Pure.

The rule: only what the server asked for. 429 with a Retry-After means that the server has not begun with the call, so
any call is made again; 503 with one may mean that something behind it has, so only reads are. Four times at most, and
never when the wait would outlast the time of the call. Everything else is for who called: only he knows whether the
operation may be done twice.
"""

from __future__ import annotations

from runtime.api.errors import ApiError

RETRIES_AT_MOST = 4


def wait_before_retry_ns(method: str, error: ApiError, retries: int, left_ns: int) -> int | None:
    """How long to wait before the call is made again; None: it is not.

    `retries`: how often it was made again already. `left_ns`: what is left of its time.
    """
    wait_ns = error.retry_after_ns
    if wait_ns is None or retries >= RETRIES_AT_MOST or wait_ns >= left_ns:
        return None
    return wait_ns if error.code == 429 or (error.code == 503 and method == "GET") else None
