"""Pods with users of their own on a whole machine, under the unit of `deploy/`.

They need containerd 2, which Debian forky has: `ACTORLET_MACHINE_RELEASE=forky`. The kernel maps the ids of volumes, so
that a file belongs to the same user on the disk and in every pod.
"""

from __future__ import annotations

import json

import pytest

from tests.machine.alone import STATE, AgentAlone
from tests.machine.machine import Machine
from tests.machine.root import RELEASE
from tests.real.pods import STAY, container, pod

_TASKS = "/run/containerd/io.containerd.runtime.v2.task/k8s.io"
_WRITE = f"id -u > /own/user; {STAY}"
_VOLUME = {"name": "own", "emptyDir": {}}


@pytest.mark.skipif(RELEASE != "forky", reason="containerd 2 is needed: ACTORLET_MACHINE_RELEASE=forky")
def test_pods_have_users_of_their_own_and_their_files_belong_to_the_same_ones_as_before(booted: Machine) -> None:
    agent = AgentAlone(booted)
    agent.begin()
    own = container(script=_WRITE, volumeMounts=[{"name": "own", "mountPath": "/own"}])
    agent.drop(*(pod(name, own, volumes=[_VOLUME], hostUsers=False) for name in ("first", "second")), pod("plain"))
    agent.await_running("first", "plain", "second")
    firsts = {name: _first_of_its_users(agent, name) for name in ("first", "second", "plain")}
    assert firsts["plain"] == 0
    assert 0 < firsts["first"] != firsts["second"] > 0, firsts
    for name in ("first", "second"):
        directory = f"{STATE}/pods/{agent.pods()[name]['metadata']['uid']}"
        file = f"{directory}/volumes/kubernetes.io~empty-dir/own/user"
        assert booted.run(f"cat {file}; stat -c %u {file}").split() == ["0", "0"], "root in the pod, root on the disk"
        assert str(firsts[name]) in json.dumps(json.loads(booted.read(f"{directory}/userns")))

    booted.run("systemctl restart actorlet")
    agent.await_running("first", "plain", "second")
    assert {name: _first_of_its_users(agent, name) for name in firsts} == firsts
    assert set(agent.restarts().values()) == {0}


def _first_of_its_users(agent: AgentAlone, name: str) -> int:
    """The user of the machine that is root in the pod's container."""
    container_id = agent.pods()[name]["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
    return int(agent.machine.run(f"cat /proc/$(cat {_TASKS}/{container_id}/init.pid)/uid_map").split()[1])
