"""A node is recorded until its power is cut, and lives again on this host to its last message.

Pods come and go before the cut and after it. The record lies on the disk that loses power.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.machine.alone import AgentAlone
from tests.machine.conftest import KIND
from tests.machine.machine import machine
from tests.machine.root import Root
from tests.real.pods import container, pod
from tests.real.records import AS_RECORDED, replayed_elsewhere

RECORD = "/var/lib/actorlet-record"
PROBE = {"exec": {"command": ["true"]}, "periodSeconds": 5, "timeoutSeconds": 60, "failureThreshold": 60}
CRASHES = "sleep 1; exit 1"
AT_REST_S = 6
"""A probe runs every five seconds, so something is recorded in such a time."""
LOST_S = 2
"""A record is readable up to the last second; a loaded machine gets another."""
LIFE = re.compile(r"began at (\S+ \S+) UTC.*\n.* steps in (\S+) s")


def lives(printed: str) -> list[tuple[float, float]]:
    """When each agent of a replay began and took its last step, in seconds since 1970."""
    found = [
        (datetime.strptime(began, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC).timestamp(), float(took))
        for began, took in LIFE.findall(printed)
    ]
    return [(began, began + took) for began, took in found]


def test_a_record_outlives_a_power_cut_and_is_replayed_elsewhere(roots: Callable[[str], Root], tmp_path: Path) -> None:
    with machine(roots(KIND), memory="2G", disk="3G", swap=None) as one:
        agent = AgentAlone(one, f"--record={RECORD}")
        agent.begin()
        agent.drop(pod("probed", container(livenessProbe=PROBE)), pod("goes", terminationGracePeriodSeconds=1))
        agent.await_running("probed", "goes")
        agent.drop(pod("crashes", container(script=CRASHES)))
        one.until("actorlet pods | grep -q CrashLoopBackOff", "it crashes again and again", limit_s=900)
        agent.withdraw("crashes", "goes")
        agent.await_running("probed")
        one.run(f"sleep {AT_REST_S}")
        cut_at_s = float(one.run("date +%s.%N"))
        one.cut_power()
        one.boot()
        agent.drop(pod("comes", terminationGracePeriodSeconds=1))
        agent.await_running("probed", "comes")
        agent.withdraw("comes", "probed")
        agent.await_running()
        one.run("systemctl stop actorlet")
        one.run(f"cp -r {RECORD} /host/record")
        record = tmp_path / "record"
        (one.shared / "record").rename(record)
    replay = replayed_elsewhere(record, tmp_path)
    print(f"cut at {cut_at_s:.3f} s\n{replay.stdout}")
    assert replay.returncode == 0, replay.stdout + replay.stderr
    assert replay.stdout.count(AS_RECORDED) == 2, replay.stdout
    (_, cut_off), (begun_again, _) = lives(replay.stdout)
    assert cut_at_s - AT_REST_S - LOST_S < cut_off < cut_at_s + LOST_S < begun_again
