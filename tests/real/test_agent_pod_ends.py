"""The ends of pods on containerd (spec 2.6, 2.11, 3.10).

Which grace period holds, orders that hasten an end and orders that would delay it, no grace at all, and the deadline.
Containers that ignore signals record when each came and when they died.
"""

from __future__ import annotations

from time import CLOCK_BOOTTIME, clock_gettime
from typing import Any

from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.pods import Truth, Witness, container, pod
from tests.real.waiting import until

DEAF = (
    "trap 'cat /proc/uptime >> /witness/signal' TERM; while :; do cat /proc/uptime >> /witness/alive; sleep 0.1; done"
)
LATE_S = 120.0
"""What the runtime and a busy machine may add. A grace that does not hold is much longer."""
LONG_S = 6000
EARLY_S = 1.0
"""What has passed since the order is taken off what the runtime gives, which counts whole seconds."""


class Deaf:
    """A pod of a container that heeds no signal."""

    def __init__(self, agent: Agent, name: str, **spec: Any) -> None:
        self.name = name
        self._witness = Witness(agent.directory, name)
        main = container(script=DEAF, volumeMounts=[self._witness.mount])
        self.document = pod(name, main, **{"terminationGracePeriodSeconds": LONG_S, **spec})
        self.document["spec"]["volumes"] = [self._witness.volume]
        self._ordered_s = 0.0

    def _read(self, file: str) -> list[float]:
        path = self._witness.directory / file
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [float(line.split(" ")[0]) for line in lines if line]

    @property
    def told(self) -> bool:
        return bool(self._read("signal"))

    def ordered(self) -> None:
        """Its end is ordered now."""
        self._ordered_s = clock_gettime(CLOCK_BOOTTIME)

    def lived_on_s(self) -> float:
        """From the order to the last sign of life."""
        return self._read("alive")[-1] - self._ordered_s


def test_2_6_the_grace_of_a_pod_is_the_deletions_before_the_specs_and_can_only_shrink(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    own = Deaf(agent, "own", terminationGracePeriodSeconds=3)
    least = Deaf(agent, "least", terminationGracePeriodSeconds=1)
    asked, hurried, delayed = Deaf(agent, "asked"), Deaf(agent, "hurried"), Deaf(agent, "delayed")
    pods = (own, least, asked, hurried, delayed)
    for each in pods:
        cluster.run(each.document)
    cluster.join()
    cluster.await_phase("Running", *(each.name for each in pods))
    for each, seconds in ((own, None), (least, None), (asked, 4), (hurried, None), (delayed, 12)):
        each.ordered()
        cluster.delete(each.name, seconds)
    agent.await_that(lambda: all(each.told for each in pods), "not all have their signal")
    cluster.delete("delayed", LONG_S)
    deleted = cluster.pod("hurried")
    assert deleted is not None
    assert deleted.metadata.deletion_grace_period_seconds == LONG_S
    hurried.ordered()
    cluster.delete("hurried", 1)
    cluster.await_gone(*(each.name for each in pods))
    for each, grace_s in ((own, 3.0), (least, 2.0), (asked, 4.0), (delayed, 12.0), (hurried, 2.0)):
        assert grace_s - EARLY_S <= each.lived_on_s() < grace_s + LATE_S, (each.name, each.lived_on_s())
    assert truth.lives() == ()
    assert truth.sandboxes() == ()


def test_2_6_without_grace_the_object_is_gone_at_once_and_its_containers_follow(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    forced = Deaf(agent, "forced")
    cluster.run(forced.document)
    cluster.join()
    cluster.await_phase("Running", "forced")
    uid = agent.pod("forced").metadata.uid
    forced.ordered()
    cluster.delete("forced", 0)
    assert cluster.pod("forced") is None
    truth.await_none("forced")
    assert 2.0 - EARLY_S <= forced.lived_on_s() < 2.0 + LATE_S, "the least there is, as its last form says"
    until(lambda: not agent.pod_directory(uid).exists(), 20, "its directory stays")


def test_2_11_a_pod_ends_at_its_deadline_and_stays_to_be_read(agent: Agent, truth: Truth) -> None:
    # It counts from the pod's start, its sandbox's making included: long enough for the container to have run.
    late = Deaf(agent, "late", activeDeadlineSeconds=15, terminationGracePeriodSeconds=1)
    agent.drop("late.json", late.document)
    agent.drop("soon.json", pod("soon", activeDeadlineSeconds=1000))
    agent.start()
    agent.await_running("soon")
    agent.await_that(lambda: agent.status("late").phase == "Failed", "it goes on")
    status = agent.status("late")
    assert status.reason == "DeadlineExceeded"
    truth.await_none("late")
    assert len(agent.events_of("late", "DeadlineExceeded")) == 1
    assert agent.status("soon").phase == "Running"
    ended = agent.container("late")

    def told() -> bool:
        nonlocal ended
        ended = agent.container("late")
        return ended is not None and ended.state is not None and ended.state.terminated is not None

    agent.await_that(told, "its end is not told")
    assert [life.attempt for life in truth.lives("late")] in ([0], [])
    assert agent.status("late").reason == "DeadlineExceeded"


def test_3_10_the_stop_signal_is_the_images(agent: Agent, truth: Truth) -> None:
    """Or TERM.

    The runtime is told the stop signal of a pod, and Debian's runtimes ignore it (`tests/conformance/pod_life.py`).
    """
    witness = Witness(agent.directory)
    traps = 'for each in TERM USR1; do trap "echo $each >> /witness/log; exit 0" $each; done'
    notes = f"{traps}; echo hears >> /witness/log; sleep 1000 & wait"
    own = container(script=notes, volumeMounts=[witness.mount]) | {"image": "actorlet.test/stop-signal:1"}
    other = Witness(agent.directory, "other")
    usual = container(script=notes, volumeMounts=[other.mount])
    made = [pod("own", own, volumes=[witness.volume]), pod("usual", usual, volumes=[other.volume])]
    manifest = agent.drop("both.json", *made)
    agent.start()
    agent.await_running("own", "usual")
    witness.await_said("hears")
    other.await_said("hears")
    manifest.unlink()
    truth.await_none()
    assert (witness.said(), other.said()) == (["hears", "USR1"], ["hears", "TERM"])
