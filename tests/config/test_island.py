"""The file of `--island-config`."""

from __future__ import annotations

import pytest

from config.documents.codec import DocumentError
from config.island import IslandSettings, decode_island

HEAD = "apiVersion: island.actorlet.dev/v1\nkind: IslandConfiguration\n"
MINUTE = 60 * 10**9


@pytest.mark.parametrize(
    ("body", "settings"),
    [
        ("", IslandSettings()),
        ("maxAge: 90m\n", IslandSettings(max_age_ns=90 * MINUTE)),
        ("keepSecrets: true\n", IslandSettings(keep_secrets=True)),
        ("tokens: Wait\n", IslandSettings(omits_tokens=False)),
        ("tokens: Omit\nmaxAge: 24h\n", IslandSettings(max_age_ns=24 * 60 * MINUTE)),
    ],
)
def test_what_is_not_written_keeps_its_default(body: str, settings: IslandSettings) -> None:
    assert decode_island((HEAD + body).encode()) == settings


def test_by_default_a_memory_is_good_for_an_hour_and_has_no_secrets() -> None:
    assert IslandSettings() == IslandSettings(max_age_ns=60 * MINUTE, keep_secrets=False, omits_tokens=True)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("", ["$"]),
        ("maxAge: 1h", ["$.apiVersion", "$.kind"]),
        (HEAD + "maxAge: soon", ["$.maxAge"]),
        (HEAD + "maxAge: 0s", ["$.maxAge"]),
        (HEAD + "maxAge: -1h", ["$.maxAge"]),
        (HEAD + "maxAge: 7", ["$.maxAge"]),
        (HEAD + "keepSecrets: 1", ["$.keepSecrets"]),
        (HEAD + "tokens: Later", ["$.tokens"]),
        (HEAD + "maxage: 1h", ["$.maxage"]),
        ("- a", ["$"]),
    ],
)
def test_each_fault_is_told_with_its_place(text: str, paths: list[str]) -> None:
    with pytest.raises(DocumentError) as caught:
        decode_island(text.encode())
    assert [fault.path for fault in caught.value.faults] == paths
    assert all(fault.reason for fault in caught.value.faults)
