"""Reads error answers of the API server. Pure.

It reads `Status` objects, other bodies (a proxy's page, a plain text), and how long to wait. It never fails: an
unreadable answer is still an `ApiError` with its code.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from config.credentials.masked import masked
from runtime.api.errors import ApiError

SECOND_NS = 1_000_000_000
LONGEST_RETRY_NS = 3600 * SECOND_NS
"""More than this is taken for a mistake of the server, and for this much."""
BODY_SHOWN_CHARACTERS = 300
RETRIES_AT_MOST = 4
NOT_UNDERSTOOD = "NotUnderstood"
NO_SECRETS: tuple[str, ...] = ()

# The reason words of Status, for answers without one.
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class _Details(msgspec.Struct):
    retry_after_seconds: int | None = msgspec.field(default=None, name="retryAfterSeconds")


class _Status(msgspec.Struct):
    """The part of a Status that is looked at. Lenient: proxies send things that only resemble one."""

    kind: str | None = None
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_STATUS = msgspec.json.Decoder(_Status)


def refusal(
    code: int, body: bytes, verb: str, retry_after: str = "", secrets: tuple[str, ...] = NO_SECRETS
) -> ApiError:
    """The error in an answer with HTTP status `code`, which is no success.

    `retry_after` is the header, if any.

    `secrets`: what the request has shown; the message has none of it.
    """
    status = _read(body)
    wait_ns = retry_after_ns(retry_after)
    if status is None:
        return ApiError(code, _reason(code), _plain(code, body, secrets), verb, wait_ns)
    if wait_ns is None and status.details is not None:
        wait_ns = _seconds(status.details.retry_after_seconds)
    message = masked(status.message or _phrase(code), secrets)
    return ApiError(code, masked(status.reason or _reason(code), secrets), message, verb, wait_ns)


def stream_error(status_json: bytes, verb: str) -> ApiError:
    """The error in an ERROR event of a watch, whose object is a Status."""
    status = _read(status_json)
    if status is None:
        return ApiError(500, NOT_UNDERSTOOD, f"an error that is not a Status: {_shown(status_json)}", verb)
    code = status.code or (410 if status.reason in ("Gone", "Expired") else 500)
    wait_ns = _seconds(status.details.retry_after_seconds) if status.details is not None else None
    return ApiError(code, status.reason or _reason(code), status.message or _phrase(code), verb, wait_ns)


def retry_after_ns(header: str) -> int | None:
    """The wait in a Retry-After header, in whole seconds.

    None for none, and for a date, which no API server sends.
    """
    text = header.strip()
    return _seconds(int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else None


def wait_before_retry_ns(method: str, error: ApiError, retries: int, left_ns: int) -> int | None:
    """How long to wait before the client makes the call again by itself; None: it does not.

    Only what the server asked for. 429 with a Retry-After means that the server has not begun with the call, so any
    call is made again. 503 with a Retry-After may mean that something behind the server has begun, so only reads are
    repeated. Everything else is left to the caller, who knows whether the operation may be done twice.

    `retries`: how often it was made again already. `left_ns`: what is left of its time.
    """
    wait_ns = error.retry_after_ns
    if wait_ns is None or retries >= RETRIES_AT_MOST or wait_ns >= left_ns:
        return None
    return wait_ns if error.code == 429 or (error.code == 503 and method == "GET") else None


def not_understood(code: int, fault: object, verb: str) -> ApiError:
    """A successful answer that cannot be read."""
    return ApiError(code, NOT_UNDERSTOOD, f"the answer cannot be read: {fault}", verb)


def _read(body: bytes) -> _Status | None:
    try:
        status = _STATUS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return status if status.kind == "Status" else None


def _seconds(seconds: int | None) -> int | None:
    return min(seconds * SECOND_NS, LONGEST_RETRY_NS) if seconds else None


def _reason(code: int) -> str:
    return _REASONS.get(code) or _phrase(code).replace(" ", "") or "Unknown"


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return ""


def _plain(code: int, body: bytes, secrets: tuple[str, ...]) -> str:
    if 300 <= code < 400:
        return "the server points elsewhere; give the address of the API server itself"
    return _shown(body, secrets) or _phrase(code)


def _shown(body: bytes, secrets: tuple[str, ...] = NO_SECRETS) -> str:
    # Masked before it is cut: a part of a secret is one, too.
    text = " ".join(masked(body.decode(errors="replace"), secrets)[: 4 * BODY_SHOWN_CHARACTERS].split())
    return text if len(text) <= BODY_SHOWN_CHARACTERS else f"{text[:BODY_SHOWN_CHARACTERS]}..."
