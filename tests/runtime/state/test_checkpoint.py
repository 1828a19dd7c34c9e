"""The checksums in the files of allocations.

They are right whatever was written before, and cheap if little has changed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.values.go_dump import hash_of_text
from runtime.state import checkpoint
from runtime.state.allocation_file import ACTUATED_NAME, NAME, LocalAllocationFile
from runtime.state.checkpoint import BLOCK_BYTES, Checksums

_PIECES = st.sampled_from([b"a" * 700, b"b" * BLOCK_BYTES, b"c" * 3000, b"d"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(_PIECES, max_size=5).map(b"".join), max_size=6))
def test_a_checksum_does_not_depend_on_what_was_written_before(texts: list[bytes]) -> None:
    checksums = Checksums()
    assert [checksums.of(text) for text in texts] == [hash_of_text(text) for text in texts]


def test_only_what_is_new_at_the_end_is_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []

    def counted(text: bytes, state: int) -> int:
        hashed.append(len(text))
        return hash_of_text(text, state)

    monkeypatch.setattr(checkpoint, "hash_of_text", counted)
    checksums, text = Checksums(), b"x" * 100 * BLOCK_BYTES
    checksums.of(text)
    assert sum(hashed) == len(text)
    hashed.clear()
    checksums.of(text + b"y" * 300)
    checksums.of(text + b"y" * 300 + b"z" * 300)
    assert sum(hashed) == 300 + 600


# (spec 10.16.1)
def test_both_files_on_the_disk_have_checksums_that_a_kubelet_accepts(tmp_path: Path) -> None:
    file = LocalAllocationFile(str(tmp_path))
    allocated = b'{"version":1,"allocations":[],"data":"{\\"entries\\":{\\"\xc3\xa4\\":{}}}"}'
    for actuated in (b'{"data":"{\\"entries\\":{}}"}', allocated):
        file.save(allocated, actuated)
        for name, content in ((NAME, allocated), (ACTUATED_NAME, actuated)):
            written = json.loads((tmp_path / name).read_bytes())
            assert written.pop("checksum") == hash_of_text(written["data"].encode())
            assert written == json.loads(content)
