"""Hashes as a kubelet makes them: FNV-1a over Go's dump of a value (upstream `DeepHashObject`).

A kubelet compares these hashes with its own, so each byte of the dump matters. Only the two kinds of values are here
that a kubelet leaves for its successor: bytes (of a container's identity) and text (of a state file).
"""

from __future__ import annotations

from config.values.fnv import START_32, fnv1a_32


def hash_of_bytes(data: bytes) -> int:
    """The dump lists the bytes as decimal numbers."""
    numbers = " ".join(map(str, data))
    return fnv1a_32(f"([]uint8)[{numbers}]".encode())


TEXT_BEGINS = fnv1a_32(b"(string)", START_32)
"""The state of `hash_of_text` before the text."""


def hash_of_text(text: bytes, state: int = TEXT_BEGINS) -> int:
    """The hash of a text's dump: its type, then the text. `state`: the hash of the preceding data."""
    return fnv1a_32(text, state)
