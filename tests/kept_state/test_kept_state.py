"""Each kind of state file, as earlier agents wrote it: the agent reads it.

Earlier agents read what is written now.

An earlier agent ignores fields that it does not know. So it reads what is written now where all of its own fields are
there with the values that it would have written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.eviction.decisions import remembered_in
from actors.eviction.decisions import text_of as evictions_of
from actors.model.allocation import Book, book_in
from actors.model.id_ranges import document, read_document
from actors.node.shutdown_rules import shutdown_in
from actors.node.shutdown_rules import text_of as shutdown_of
from actors.pod.decided_ends import causes_of, decided_of
from runtime.files.state_file import decoded
from runtime.state.checkpoint import Checksums
from runtime.volumes.csi_layout import NOTE, note_of, write_note

HERE = Path(__file__).parent
VERSIONS = sorted(path.name for path in HERE.iterdir() if (path / "evictions").exists())

READ: dict[str, Callable[[bytes], object]] = {
    "allocated_pods_state": book_in,
    "decided-ends": decided_of,
    "evictions": remembered_in,
    "graceful_node_shutdown_state": shutdown_in,
    NOTE: note_of,
}
Again = Callable[[bytes], str | bytes]


def _evictions(content: bytes) -> str:
    read = decoded(content, remembered_in)
    return evictions_of(read.victims, read.conditions)


def _note(content: bytes, directory: Path) -> bytes:
    write_note(str(directory), decoded(content, note_of))
    return (directory / NOTE).read_bytes()


AGAIN: dict[str, Again] = {
    "allocated_pods_state": lambda content: Checksums().added(Book(decoded(content, book_in)).written().allocated),
    "decided-ends": lambda content: msgspec.json.encode(decoded(content, decided_of)),
    "evictions": _evictions,
    "graceful_node_shutdown_state": lambda content: shutdown_of(decoded(content, shutdown_in)),
    "userns": lambda content: document(read_document(content.decode())),
}

ADDED = {"allocated_pods_state": ("data", "checksum")}
"""Fields that later agents write, and a kubelet."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [*AGAIN, NOTE])
def test_state_of_an_earlier_agent_reads_and_writes_compatibly(version: str, name: str, tmp_path: Path):
    content = (HERE / version / name).read_bytes()
    again = _note(content, tmp_path) if name == NOTE else AGAIN[name](content)
    was, now = json.loads(content), json.loads(again)
    assert {key: now.get(key) for key in was} == was
    assert set(now) - set(was) <= {"version", *ADDED.get(name, ())}


@pytest.mark.parametrize("name", [*AGAIN, NOTE])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_file_that_the_disk_has_spoiled_is_read_or_refused(name: str, data: st.DataObject):
    """Cut, overwritten and repeated in any place: nothing but the refusal comes out of it."""
    content = (HERE / VERSIONS[0] / name).read_bytes()
    for _ in range(data.draw(st.integers(1, 3))):
        at, end = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        put = data.draw(st.sampled_from((b"", b"\0" * 16, b"[" * 5000, b"9" * 400, b"-", content[at:end] * 2)))
        content = content[:at] + put + content[end:]
    with suppress(ValueError):
        if name == "userns":
            read_document(content.decode("utf-8", "replace"))
        else:
            decoded(content, READ[name])


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_is_kept(version: str):
    assert {path.name for path in (HERE / version).iterdir()} == {*AGAIN, NOTE}


def test_read_state_keeps_its_meaning():
    old = HERE / "4dbe14e"
    found: list[Any] = [
        [each.uid for each in book_in((old / "allocated_pods_state").read_bytes()).allocations],
        [each.uid for each in remembered_in((old / "evictions").read_bytes()).victims],
        [cause.name for cause in causes_of(decided_of((old / "decided-ends").read_bytes())).values()],
        note_of((old / NOTE).read_bytes()).device,
    ]
    assert found == [["0000-web", "0000-db"], ["0000-web"], ["LIVENESS"], "d.example.org^h-1"]
