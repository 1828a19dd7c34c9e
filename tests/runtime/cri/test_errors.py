"""How the error of a runtime is written: as upstream writes it, since users search for these words."""

from __future__ import annotations

import pytest

from runtime.cri.errors import CriError, StatusCode


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (StatusCode.UNKNOWN, "Unknown"),
        (StatusCode.CANCELLED, "Canceled"),
        (StatusCode.NOT_FOUND, "NotFound"),
        (StatusCode.DEADLINE_EXCEEDED, "DeadlineExceeded"),
        (StatusCode.UNAVAILABLE, "Unavailable"),
        (StatusCode.UNAUTHENTICATED, "Unauthenticated"),
    ],
)
def test_an_error_of_the_runtime_is_written_as_programs_in_go_write_it(code: StatusCode, name: str) -> None:
    assert CriError(code, "no such thing", "PullImage").in_go == f"rpc error: code = {name} desc = no such thing"
