"""Times in protobuf as texts. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def time_text(seconds: int, nanos: int) -> str:
    """RFC3339, with microseconds where there are some. Raises OverflowError, OSError, ValueError."""
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000:06}Z" if nanos else f"{text}Z"
