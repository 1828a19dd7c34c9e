"""What a refusal says, and which calls are repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.api import ApiError
from runtime.api.answers import RETRIES_AT_MOST, refusal, retry_after_ns, stream_error, wait_before_retry_ns
from runtime.api.connections import target

SECOND_NS = 10**9


@pytest.mark.parametrize(
    ("body", "header", "reason", "message", "wait_ns"),
    [
        (b'{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}', "", "Forbidden", "no", None),
        (b'{"kind":"Status"}', "", "Forbidden", "Forbidden", None),
        (b'{"kind":"Status","details":{"retryAfterSeconds":4}}', "", "Forbidden", "Forbidden", 4 * SECOND_NS),
        (b'{"kind":"Status","details":{"retryAfterSeconds":4}}', "9", "Forbidden", "Forbidden", 9 * SECOND_NS),
        (b'{"kind":"Status","details":{}}', "0", "Forbidden", "Forbidden", None),
        (b'{"kind":"Status","reason":7}', "", "Forbidden", '{"kind":"Status","reason":7}', None),
        (b'{"kind":"Pod","message":"no"}', "", "Forbidden", '{"kind":"Pod","message":"no"}', None),
        (b"no \xff way", "", "Forbidden", "no \ufffd way", None),
        (b"", "", "Forbidden", "Forbidden", None),
        (b"x" * 5000, "", "Forbidden", "x" * 300 + "...", None),
    ],
)
def test_a_refusal(body: bytes, header: str, reason: str, message: str, wait_ns: int | None) -> None:
    error = refusal(403, body, "get pods", header)
    assert (error.code, error.reason, error.message, error.retry_after_ns) == (403, reason, message, wait_ns)


@given(st.integers(100, 999), st.binary(), st.text())
def test_no_answer_is_too_strange_for_an_error(code: int, body: bytes, header: str) -> None:
    error = refusal(code, body, "get pods", header)
    assert error.code == code
    assert error.reason
    assert isinstance(stream_error(body, "watch pods"), ApiError)


@pytest.mark.parametrize(
    ("header", "wait_ns"),
    [("1", SECOND_NS), (" 2 ", 2 * SECOND_NS), ("", None), ("-1", None), ("Fri, 31 Dec 1999", None), ("9" * 30, None)],
)
def test_the_retry_after_header_is_parsed(header: str, wait_ns: int | None) -> None:
    assert retry_after_ns(header) == wait_ns


def asks(code: int, wait_ns: int | None = SECOND_NS) -> ApiError:
    return ApiError(code, "Reason", "why", "get pods", wait_ns)


@pytest.mark.parametrize(
    ("method", "error", "retries", "left_ns", "wait_ns"),
    [
        ("GET", asks(429), 0, 60 * SECOND_NS, SECOND_NS),
        ("PATCH", asks(429), 0, 60 * SECOND_NS, SECOND_NS),
        ("GET", asks(503), 0, 60 * SECOND_NS, SECOND_NS),
        ("PATCH", asks(503), 0, 60 * SECOND_NS, None),
        ("DELETE", asks(503), 0, 60 * SECOND_NS, None),
        ("GET", asks(500), 0, 60 * SECOND_NS, None),
        ("GET", asks(409), 0, 60 * SECOND_NS, None),
        ("GET", asks(0), 0, 60 * SECOND_NS, None),
        ("GET", asks(429, None), 0, 60 * SECOND_NS, None),
        ("GET", asks(429), RETRIES_AT_MOST - 1, 60 * SECOND_NS, SECOND_NS),
        ("GET", asks(429), RETRIES_AT_MOST, 60 * SECOND_NS, None),
        ("GET", asks(429), 0, SECOND_NS, None),
    ],
)
def test_which_call_is_made_again(
    method: str, error: ApiError, retries: int, left_ns: int, wait_ns: int | None
) -> None:
    assert wait_before_retry_ns(method, error, retries, left_ns) == wait_ns


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/api/v1/nodes/n", (), "/api/v1/nodes/n"),
        ("/api/v1/nodes/system:a", (("a", "b"), ("c", "d e&f=")), "/api/v1/nodes/system:a?a=b&c=d%20e%26f%3D"),
        ("/api/v1/nodes/a?b/../ü", (), "/api/v1/nodes/a%3Fb/../%C3%BC"),
    ],
)
def test_the_request_line_escapes_path_and_query(path: str, query: tuple[tuple[str, str], ...], expected: str) -> None:
    assert target(path, query) == expected
