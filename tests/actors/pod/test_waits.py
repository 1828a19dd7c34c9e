"""What a pod waits for, as a table."""

from __future__ import annotations

import pytest

from actors.events.history_words import StartsUnderWay, container_waits, stop_wait
from actors.messages.history import PodWait
from actors.model.observed import ObservedPod, ProbeResults
from config.frozen_map import FrozenMap
from config.objects import Probe, TCPSocketAction
from tests.actors.pod_pictures import EXITED, NOW_NS, SECOND_NS, container, picture, pod, seen, sidecar

WEB = pod("app", "log")
INIT = pod("app", init=(container("setup"), sidecar("proxy")))
BACK_OFF = {"app": ("CrashLoopBackOff", "back-off 10s")}
MISSING = {"app": ("CreateContainerConfigError", 'configmap "settings" not found')}


@pytest.mark.parametrize(
    ("observed", "starts", "expected"),
    [
        (picture(seen("app"), seen("log")), StartsUnderWay(), ()),
        (picture(seen("app"), seen("log")), StartsUnderWay(reasons=BACK_OFF), ()),
        (
            picture(seen("app", EXITED), seen("log")),
            StartsUnderWay(reasons=BACK_OFF, retry_at={"app": NOW_NS}),
            (PodWait("container app", "CrashLoopBackOff", "back-off 10s", "it is started again", NOW_NS),),
        ),
        (
            picture(seen("log")),
            StartsUnderWay(reasons=BACK_OFF, pulling=frozenset({"app"})),
            (PodWait("container app", "ContainerCreating", "its image image:1 is being pulled", "it is started then"),),
        ),
        (
            picture(),
            StartsUnderWay(reasons=MISSING, asking=frozenset({"log"})),
            (
                PodWait(
                    "container app", "CreateContainerConfigError", 'configmap "settings" not found', "it is tried again"
                ),
                PodWait(
                    "container log", "ContainerCreating", "what it refers to is being asked for", "it is started then"
                ),
            ),
        ),
    ],
    ids=["all run", "a reason of the past", "back-off", "pull", "one refused, one asks"],
)
def test_waits_of_containers(observed: ObservedPod, starts: StartsUnderWay, expected: tuple[PodWait, ...]):
    assert container_waits(WEB, observed, starts) == expected


def test_containers_wait_for_the_init_container_that_runs():
    [wait] = container_waits(INIT, picture(seen("setup")), StartsUnderWay())
    assert (wait.subject, wait.text) == ("container app", "init container setup has to end well first")
    [wait] = container_waits(pod("a", "b", init=(container("setup"),)), picture(seen("setup")), StartsUnderWay())
    assert (wait.subject, wait.then) == ("containers a, b", "they are started after that")


def test_no_container_waits_for_a_sidecar_to_end():
    assert container_waits(INIT, picture(seen("setup", EXITED), seen("proxy"), seen("app")), StartsUnderWay()) == ()


def test_an_init_container_that_is_backing_off_is_what_the_pod_waits_for():
    starts = StartsUnderWay(reasons={"setup": ("CrashLoopBackOff", "back-off 10s")}, retry_at={"setup": NOW_NS})
    [wait] = container_waits(INIT, picture(seen("setup", EXITED, exit_code=1)), starts)
    assert wait.subject == "container setup"


PROBE = Probe(tcp_socket=TCPSocketAction(port=80))
PROBED = pod(container("app", readiness_probe=PROBE, startup_probe=PROBE))
RUNS = picture(seen("app", id="c1"))


@pytest.mark.parametrize(
    ("results", "text"),
    [
        (ProbeResults(), ""),
        (ProbeResults(active=True), "it runs, and its startup probe has not succeeded yet"),
        (
            ProbeResults(active=True, startup=FrozenMap({"c1": True})),
            "it runs, and its readiness probe does not succeed",
        ),
        (ProbeResults(active=True, startup=FrozenMap({"c1": True}), readiness=FrozenMap({"c1": True})), ""),
    ],
    ids=["nobody probes", "not started", "not ready", "ready"],
)
def test_a_container_that_runs_waits_for_its_probes(results: ProbeResults, text: str):
    waits = container_waits(PROBED, RUNS, StartsUnderWay(), results)
    assert waits == ((PodWait("container app", "", text, "it is probed again"),) if text else ())
    assert container_waits(PROBED, picture(), StartsUnderWay(), results) == ()


def test_the_end_of_a_container_is_waited_for_until_it_is_killed():
    wait = stop_wait("app", 12, NOW_NS)
    assert wait.text == "it was asked to stop and has 12 s for it"
    assert wait.until_wall_ns == NOW_NS + 12 * SECOND_NS
