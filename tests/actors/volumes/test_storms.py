"""Volumes while calls hang, fail and end late, agents die, and pods come and go.

A seed draws the order.

When all is healed, every wanted pod has all its volumes and nothing else is left. On the way the actor does not fail,
and no volume in use is unmounted.
"""

from __future__ import annotations

import errno

import pytest

from actors.messages.volumes import ReleaseVolumes, VolumesPrepared, VolumesReleased
from config.objects import Pod
from tests.actors.volumes.test_contents import pod_with
from tests.actors.volumes.test_crashes import MOUNTS, VOLUMES, Host

UIDS = tuple(f"u{number}" for number in range(6))
BELOW = ("", "/volumes", "/volumes/kubernetes.io~nfs", "/volumes/kubernetes.io~csi/pv-disk")
OF_PODS = tuple(f"/root/pods/{uid}{below}" for uid in UIDS for below in BELOW)
PLACES = (*OF_PODS, "/root/plugins/kubernetes.io/csi", "/root/pods")


class Storm:
    """Some pods, the last words about them, and what was done to the disk."""

    def __init__(self, seed: int) -> None:
        self.host = Host(seed)
        self.chance = self.host.dispatcher.chance
        self.pods: dict[str, Pod] = {uid: pod_with(*VOLUMES, uid=uid, labels={"a": "1"}) for uid in UIDS}
        self.wanted: set[str] = set()
        self.in_use: set[str] = set()
        self.faulty: set[str] = set()
        self.heard = 0
        self.host.disk.before = self.look

    def look(self, operation: str) -> None:
        self.host.before(operation)
        if operation.startswith(("unmount", "remove")):
            self.hear()
            used = [uid for uid in self.in_use if f"/{uid}/" in operation]
            assert not used, f"{operation}: containers of {used} may be running"
            assert "globalmount" not in operation or not self.in_use, f"{operation}: under {self.in_use}"

    def hear(self) -> None:
        """A pod whose volumes are complete has containers until it is released."""
        answers = self.host.agent.answers
        for answer in answers[self.heard :]:
            if isinstance(answer, VolumesReleased):
                continue
            uid = next((uid for uid in UIDS if any(f"/{uid}/" in path for path in answer.host_paths.values())), "")
            if isinstance(answer, VolumesPrepared) and not answer.error and uid in self.wanted:
                self.in_use.add(uid)
        self.heard = len(answers)

    def happen(self) -> None:
        """One thing."""
        operation, uid, agent = self.chance.randrange(10), self.chance.choice(UIDS), self.host.agent
        if operation <= 2:
            self.wanted.add(uid)
            agent.want(self.pods[uid])
        elif operation <= 4:
            self.hear()
            self.wanted.discard(uid)
            self.in_use.discard(uid)
            agent.actor.tell(ReleaseVolumes(agent.worker, uid))
        elif operation == 5:
            self.faulty.add(place := self.chance.choice(PLACES))
            self.host.disk.tree.hang(place)
        elif operation == 6:
            self.faulty.add(place := self.chance.choice(PLACES))
            self.host.disk.tree.fail(place, errno.EIO)
        elif operation == 7 and self.faulty:
            self.heal(self.chance.choice(sorted(self.faulty)))
        elif operation == 8:
            agent.know(*(self.pods[each] for each in sorted(self.wanted)))
        elif self.chance.random() < 0.4:
            self.hear()
            agent.killable.kill()
            self.host.new_agent()
            self.heard = 0
            self.host.agent.want(*(self.pods[each] for each in sorted(self.wanted)))

    def heal(self, place: str) -> None:
        self.faulty.discard(place)
        self.host.disk.tree.heal(place)


@pytest.mark.parametrize("seed", range(25))
def test_after_the_storm_every_volume_is_where_it_should_be_and_no_other(seed: int):
    storm = Storm(seed)
    host = storm.host
    for _ in range(80):
        storm.happen()
        host.run(storm.chance.choice((0, 0.01, 1, 10, 150)))
    for place in sorted(storm.faulty):
        storm.heal(place)
    for _ in range(3):
        host.agent.know(*(storm.pods[uid] for uid in sorted(storm.wanted)))
        host.run(400)
    assert host.disk.list_uids() == tuple(sorted(storm.wanted))
    assert {uid: len(host.of(uid)) for uid in UIDS} == {uid: MOUNTS * (uid in storm.wanted) for uid in UIDS}
    assert len(host.disk.scan().devices) == bool(storm.wanted)
    assert len(host.disk.mounted) == MOUNTS * len(storm.wanted) + bool(storm.wanted)
    storm.hear()
    assert storm.in_use == storm.wanted
    failed = [(each.path, each.restarts) for each in host.agent.system.report().actors if each.restarts]
    assert failed == []
