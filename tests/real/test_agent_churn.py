"""Manifests come, change, move and go faster than pods can follow, and the agent is killed.

Of each pod at most one incarnation lives at any time, and in the end it is the newest (pains 7 and 8).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.real.agent import Agent
from tests.real.pods import Truth, container, pod

NAMES = ("a", "b", "c")
OPERATIONS = ("write", "write", "write", "move", "remove", "kill")
STEPS = 25


def guarded(name: str, version: int, port: int, directory: Path) -> dict[str, Any]:
    """A pod that holds a port of the host while it lives, and records if another one holds it."""
    script = (
        f"(nc -l -p {port} || echo {name} {version} is not alone >> /words/said) & trap 'exit 0' TERM; sleep 1000000 & "
        "wait"
    )
    mounts = [{"name": "words", "mountPath": "/words"}]
    main = container(script=script, volumeMounts=mounts, env=[{"name": "VERSION", "value": str(version)}])
    return pod(name, main, volumes=[{"name": "words", "hostPath": {"path": str(directory)}}], hostNetwork=True)


@pytest.mark.parametrize("seed", [7, 104648])
def test_one_incarnation_of_each_pod_lives_and_the_newest_stays(agent: Agent, truth: Truth, seed: int) -> None:
    chance = random.Random(seed)
    words = agent.directory / "words"
    words.mkdir()
    ports = {name: free_port() for name in NAMES}
    files: dict[str, Path] = {}
    newest: dict[str, int] = {}
    agent.start()
    for step in range(STEPS):
        name, operation = chance.choice(NAMES), chance.choice(OPERATIONS)
        if operation == "kill":
            agent.kill()
            agent.begin()
        elif operation == "write" or name not in files:
            manifest = guarded(name, step, ports[name], words)
            files[name] = agent.drop(files[name].name if name in files else f"{name}.json", manifest)
            newest[name] = step
        elif operation == "move":
            files[name] = files[name].rename(agent.manifests / f"{name}-{step}.json")
        else:
            files.pop(name).unlink()
            del newest[name]
        assert not agent.ended_within(chance.uniform(0.0, 0.6)), agent.said()[-3000:]
    agent.await_answer()

    def live() -> dict[str, list[str]]:
        """Versions of the containers that run, by pod."""
        running = {name: [life for life in truth.lives(name) if life.running] for name in NAMES}
        return {name: [truth.variable(life, "VERSION") for life in lives] for name, lives in running.items() if lives}

    wanted = {name: [str(version)] for name, version in newest.items()}
    agent.await_that(lambda: live() == wanted, f"{live()} do not become {wanted}", 60)
    agent.await_running(*newest)
    agent.await_that(lambda: set(agent.pods()) == set(newest), "more is told of than there is")
    assert not (words / "said").exists(), (words / "said").read_text()
    for name in newest:
        # The guard is awake: whoever else wants the port is refused.
        truth.run(truth.running(name), "sh", "-c", f"nc -l -p {ports[name]} -w 1 2>&1 | grep -i 'in use'")
