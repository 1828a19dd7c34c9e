"""Hashes of a kubelet: the numbers were printed by kubelet 1.36's own functions."""

from __future__ import annotations

import pytest

from config.values.go_dump import hash_of_bytes, hash_of_text


def test_the_hash_of_bytes_is_that_of_a_kubelet() -> None:
    assert hash_of_bytes(b'{"image":"image:1","name":"web"}') == 0xC8D4BC82


@pytest.mark.parametrize(
    ("text", "number"),
    [("", 441364273), ("{}", 694314937), ('{"entries":{}}', 1057365947), ("é\n", 4161373317)],
)
def test_the_hash_of_a_text_is_that_of_a_kubelet(text: str, number: int) -> None:
    assert hash_of_text(text.encode()) == number


def test_the_hash_of_a_text_goes_on_where_it_stopped() -> None:
    assert hash_of_text(b"s", hash_of_text(b'{"entrie')) == hash_of_text(b'{"entries')
