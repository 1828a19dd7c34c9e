"""SIGKILL at fifty random moments while pods with volumes come and go (pain 6).

Nothing is left behind, and nothing in use is touched.
"""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

from tests.real.agent import Agent
from tests.real.pods import Truth, container, pod

KILLS = 50
AT_A_TIME = 3
IN_MEMORY = 10
DOWN = {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}
VOLUMES: list[dict[str, Any]] = [
    {"name": "own", "emptyDir": {}},
    {"name": "down", **DOWN},
    {"name": "all", "projected": {"sources": [DOWN]}},
    {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    *({"name": f"more-{number}", "emptyDir": {"medium": "Memory"}} for number in range(IN_MEMORY - 3)),
]
MOUNTS = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in VOLUMES]


def with_volumes(name: str) -> dict[str, Any]:
    return pod(name, container(volumeMounts=MOUNTS), volumes=VOLUMES, terminationGracePeriodSeconds=1)


def mounts_below(directory: Path) -> dict[str, str]:
    """Mount point -> the number that the kernel has given to this very mount."""
    lines = (line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return {fields[4]: fields[0] for fields in lines if fields[4].startswith(f"{directory}/")}


def differs(agent: Agent, before: object) -> bool:
    return on_disk(agent) != before


def on_disk(agent: Agent) -> tuple[set[str], int]:
    return {each.name for each in (agent.root / "pods").iterdir()}, len(mounts_below(agent.root))


def test_killed_at_fifty_moments_it_leaves_nothing_of_removed_pods_and_touches_no_live_mount(
    agent: Agent, truth: Truth
) -> None:
    chance = random.Random(20261121)
    agent.drop("stays.json", with_volumes("stays"))
    agent.start()
    agent.await_running("stays")
    uid = agent.pod("stays").metadata.uid
    stays = truth.running("stays")
    for volume in ("own", "memory"):
        truth.run(stays, "sh", "-c", f"echo kept > /{volume}/file")
    mounted = mounts_below(agent.root)
    assert len(mounted) == IN_MEMORY
    versions = {path: path.readlink() for path in agent.pod_directory(uid).glob("volumes/*/*/..data")}
    assert len(versions) == 2
    agent.kill()

    pods = agent.root / "pods"
    seen: set[str] = set()
    cut_short = 0
    files: list[Path] = []
    for life in range(KILLS):
        # One comes and one goes in every life, so that the agent dies while it mounts and while it unmounts.
        files.append(agent.drop(f"short-{life}.json", with_volumes(f"short-{life}")))
        if len(files) > AT_A_TIME:
            files.pop(0).unlink()
        before = on_disk(agent)
        agent.begin()
        agent.await_that(partial(differs, agent, before), "nothing happens")
        # Passing time is what is wanted here: any moment will do, once it has begun to mount or unmount.
        assert not agent.ended_within(chance.choice((0.05, 0.5)) * chance.random()), agent.said()[-2000:]
        agent.kill()
        seen.update(each.name for each in pods.iterdir())
        cut_short += len(mounts_below(agent.root)) % IN_MEMORY != 0
    assert len(seen) > KILLS / 4, "it was mostly killed before it came to anything"
    assert cut_short, "it never died between two mounts of a pod"
    for file in files:
        file.unlink()

    agent.start()
    agent.await_that(lambda: [each.name for each in pods.iterdir()] == [uid], "directories of removed pods stay", 90)
    assert mounts_below(agent.root) == mounted, "the very same mounts, and no other"
    assert {path: path.readlink() for path in versions} == versions
    truth.await_none("short")
    assert truth.running("stays").key == stays.key
    for volume in ("own", "memory"):
        assert truth.run(stays, "cat", f"/{volume}/file") == "kept\n"
    assert truth.run(stays, "cat", "/down/name") == f"{agent.pod('stays').metadata.name}"
