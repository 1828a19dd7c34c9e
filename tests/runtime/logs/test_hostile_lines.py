"""Every reader of a log survives what a container writes: worker, `kubectl logs`, rotation."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.logs.lines import STDERR, STDOUT, LineWriter, LogReadOptions, line_of, time_ns
from runtime.logs.pod_files import LocalPodFiles
from runtime.logs.reader import LogReader
from runtime.logs.source import LocalLogSource

ID = "4f2c" * 16
DEEP = 200_000
TIMES = st.one_of(
    st.text(max_size=40),
    st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{5,8}(\.[0-9]{0,30})?(Z|[+-][0-9:]{2,8})?", fullmatch=True),
)
OPTIONS = st.builds(
    LogReadOptions,
    timestamps=st.booleans(),
    since_ns=st.none() | st.integers(-(10**30), 10**30),
    tail_lines=st.none() | st.integers(0, 10**18),
    limit_bytes=st.none() | st.integers(0, 10**18),
    stream=st.sampled_from([None, STDOUT, STDERR]),
)
LINES = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda time, stream, tag, text: b" ".join((time.encode(errors="surrogatepass"), stream, tag, text)),
        TIMES,
        st.sampled_from([STDOUT, STDERR, b"", b"x"]),
        st.sampled_from([b"P", b"F", b"P:x", b"", b"\xff"]),
        st.binary(max_size=50),
    ),
    st.builds(
        lambda log, time: f'{{"log":"{log}","stream":"stdout","time":"{time}"}}'.encode(errors="surrogatepass"),
        st.text(max_size=20),
        TIMES,
    ),
)

NESTED: dict[str, bytes] = {
    "arrays in a field that nobody reads": b'\r{"x":' + b"[" * DEEP,
    "objects in one": b'{"x":' + b'{"a":' * DEEP,
    "arrays where the text should be": b'{"log":' + b"[" * DEEP,
    "arrays that end": b'{"x":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "half a character": b'{"log":"\xed\xa0\x80","stream":"stdout"}',
    "half a character, escaped": b'{"log":"\\ud800","stream":"stdout","time":"\\udfff"}',
    "a number without end": b'{"x":' + b"9" * DEEP,
    "a string without end": b'{"log":"' + b"\\n" * DEEP,
    "nulls": b'{"log":null,"stream":null,"time":null}',
    "NULs": b"\0" * DEEP,
    "a time of many digits": b"2026-01-01T00:00:00." + b"9" * DEEP + b"Z stdout F x",
    "a year of many digits": b"9" * DEEP + b"-01-01T00:00:00Z stdout F x",
    "a time before all times": b"0001-01-01T00:00:00+23:59 stdout F x",
    "a time after all times": b"9999-12-31T23:59:59.999999999-23:59 stdout F x",
    "a zone of many digits": b"2026-01-01T00:00:00+" + b"1" * DEEP + b" stdout F x",
    "only spaces": b" " * DEEP,
    "carriage returns": b"\r" * DEEP,
}


def shown(log: Path, options: LogReadOptions) -> bytes:
    """What `kubectl logs` gets."""
    reader, parts = LogReader(LocalLogSource(), str(log), ID, options), []
    reader.open()
    try:
        while (data := reader.read()) is not None:
            parts.append(data)
        return b"".join(parts) + reader.finish()
    finally:
        reader.close()


@pytest.mark.parametrize("line", NESTED.values(), ids=NESTED)
def test_no_line_of_a_container_stops_a_reader(tmp_path: Path, line: bytes) -> None:
    log = tmp_path / "0.log"
    log.write_bytes(line + b"\n2026-01-01T00:00:00Z stdout F the last words\n")
    assert LocalPodFiles().read_log_tail(str(log), ID, 80, 2048).endswith("the last words\n")
    for options in (LogReadOptions(), LogReadOptions(timestamps=True, since_ns=1), LogReadOptions(tail_lines=1)):
        assert shown(log, options).endswith(b"the last words\n")


@given(st.lists(LINES, max_size=5), OPTIONS)
def test_no_bytes_in_a_log_and_no_options_are_more_than_text(lines: list[bytes], options: LogReadOptions) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "0.log")
        log.write_bytes(b"\n".join(lines))
        assert len(shown(log, options)) <= 2 * log.stat().st_size + 50 * len(lines)
        LocalPodFiles().read_log_tail(str(log), ID, 80, 2048)
    for each in lines:
        line_of(each)
        LineWriter(options).shown((each,))


@given(TIMES)
def test_no_text_is_more_than_a_time_or_none(text: str) -> None:
    assert time_ns(text) is None or isinstance(time_ns(text), int)
