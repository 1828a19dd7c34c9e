"""The text of a health check."""

from __future__ import annotations

from runtime.http_server.health import CHECKS, SYNC_LOOP, health
from tests.attacks.words import WORDS, raw_characters


def test_each_late_actor_is_one_harmless_line() -> None:
    late = (f"{SYNC_LOOP} handles SyncPod", f"/node/sync-loop/{WORDS} waits for a call")
    status, text = health("healthz", CHECKS, late, "", verbose=True)
    assert status == 500
    assert not raw_characters(text)
    failed = [line for line in text.splitlines() if line.startswith("[-]")]
    assert [line.partition(" ")[0] for line in failed] == ["[-]syncloop", "[-]actors", "[-]actors"]
    assert len(text.splitlines()) == len(failed) + 3
