"""`actorlet explain` of pods on containerd."""

from __future__ import annotations

import json
from typing import Any

from tests.real.agent import Agent
from tests.real.pods import container, pod


def test_pods_in_trouble_are_explained_on_a_real_runtime(agent: Agent) -> None:
    agent.drop("crashes.json", pod("crashes", container(script="echo no licence >&2; exit 3")))
    agent.drop("missing.json", pod("missing", {**container(), "image": "localhost:1/nothing:1"}))
    agent.start()

    def told(name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(agent.told("explain", name, "--output", "json"))
        return document

    def waits_for(name: str, reason: str) -> bool:
        return any(wait["reason"] == reason for wait in told(name)["waits"])

    agent.await_that(lambda: waits_for("crashes", "CrashLoopBackOff"), "it does not crash")
    agent.await_that(lambda: waits_for("missing", "ImagePullBackOff"), "it is not refused")
    ends = [each for each in told("crashes")["happened"] if each["kind"] == "end"]
    assert ends[0]["text"] == "container main ended with exit code 3 (Error)"
    assert any("localhost:1/nothing:1 cannot be pulled" in each["text"] for each in told("missing")["happened"])
    # It runs for a moment now and then.
    again = "container main: it is started again in "
    agent.await_that(lambda: again in agent.told("explain", "crashes"), f"it is not told that {again}")
