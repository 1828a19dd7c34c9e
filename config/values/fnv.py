"""FNV-1a: a hash that is the same in every process and every version, for identity and not for safety."""

from __future__ import annotations

START_32 = 0x811C9DC5


def fnv1a_32(data: bytes, state: int = START_32) -> int:
    """The 32-bit FNV-1a hash; `state`: the hash of the preceding data."""
    return _fnv1a(data, state, 0x01000193, 32)


def fnv1a_128(data: bytes) -> str:
    """32 hexadecimal digits. About 5 MB a second: meant for manifests, not for images."""
    return f"{_fnv1a(data, 0x6C62272E07BB014262B821756295C58D, 0x0000000001000000000000000000013B, 128):032x}"


def _fnv1a(data: bytes, offset: int, prime: int, bits: int) -> int:
    value, mask = offset, 2**bits - 1
    for byte in data:
        value = ((value ^ byte) * prime) & mask
    return value
