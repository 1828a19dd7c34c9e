"""Logs of a simulated cluster for its clients: what the test says that containers wrote."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest

from actorlet.testing import Cluster, cluster
from tests.simulation.cluster.plain_client import PATIENCE_S, PODS, PlainClient, trusting


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """Stepped; tests take pods of their own and leave its node as it was."""
    with cluster() as found:
        yield found


def opened(found: Cluster, pod: str, **query: Any) -> Any:
    url = f"{found.url}{PODS}/{pod}/log?{urlencode(query)}"
    return urllib.request.urlopen(url, timeout=PATIENCE_S, context=trusting(found))


def log(found: Cluster, pod: str, **query: Any) -> list[str]:
    with opened(found, pod, **query) as answer:
        return str(answer.read().decode()).splitlines()


def refusal(found: Cluster, pod: str, **query: Any) -> tuple[int, str, str]:
    """Code, reason and message of the Status."""
    with pytest.raises(HTTPError) as refused:
        opened(found, pod, **query)
    status = json.load(refused.value)
    return status["code"], status["reason"], status["message"]


def test_container_output_is_logged_with_the_cluster_time(shared: Cluster, api: PlainClient):
    shared.behave("writes", output="one\ntwo", output_every="10s", start_delay="500ms")
    api.create_pod("writes")
    shared.step("25s")
    before = shared.now
    assert log(shared, "writes") == ["one", "two"] * 3
    assert log(shared, "writes", tailLines=3) == ["two", "one", "two"]
    assert log(shared, "writes", sinceSeconds=10) == ["one", "two"]
    assert log(shared, "writes", limitBytes=5) == ["one", "t"]
    times = [line.split(" ")[0] for line in log(shared, "writes", timestamps="true")]
    assert times[0] == times[1] < times[2] < times[4]
    assert log(shared, "writes", sinceTime=times[2]) == ["one", "two"] * 2
    assert times[0].startswith(api.pod("writes")["metadata"]["creationTimestamp"].split("T")[0])
    assert shared.now == before


def test_a_test_has_containers_say_things_now(shared: Cluster, api: PlainClient):
    api.create_pod("talks")
    shared.step("5s")
    assert log(shared, "talks") == []
    shared.say("talks", "listening on 8080\nready")
    assert log(shared, "talks") == ["listening on 8080", "ready"]


def test_the_log_of_the_container_before_is_there_after_a_restart(shared: Cluster, api: PlainClient):
    api.create_pod("crashes")
    shared.step("5s")
    assert refusal(shared, "crashes", previous="true") == (
        400,
        "BadRequest",
        'previous terminated container "app" in pod "crashes" not found',
    )
    shared.say("crashes", "out of luck")
    shared.exit("crashes", 3)
    shared.until(lambda: api.restarts("crashes") == 1)
    shared.say("crashes", "another try")
    assert log(shared, "crashes", previous="true") == ["out of luck"]
    assert log(shared, "crashes") == ["another try"]


def test_a_log_that_was_rotated_is_one_log(shared: Cluster, api: PlainClient):
    shared.behave("floods", output="x" * 999, output_size="6Mi", output_every="20s")
    api.create_pod("floods")
    shared.step("2m")
    written = len(log(shared, "floods"))
    assert written % 6 == 0
    assert written > 30_000
    assert log(shared, "floods", tailLines=12_000) == ["x" * 999] * 12_000
    api.delete_pod("floods")
    shared.step("1m")


def test_a_log_request_without_a_container_name_lists_the_choices(shared: Cluster, api: PlainClient):
    init = {"name": "init", "image": "nginx:1"}
    both = [{"name": name, "image": "nginx:1"} for name in ("one", "two")]
    pod = {"metadata": {"name": "both"}, "spec": {"initContainers": [init], "containers": both}}
    shared.behave("both", container="init", output="made", run_for="1s")
    api.ask("POST", PODS, pod)
    shared.step("10s")
    shared.say("both", "hello", container="two")
    told = "a container name must be specified for pod both, choose one of: [init one two]"
    assert refusal(shared, "both") == (400, "BadRequest", told)
    assert refusal(shared, "both", container="three")[2] == "container three is not valid for pod both"
    assert [log(shared, "both", container=name) for name in ("init", "one", "two")] == [["made"], [], ["hello"]]


def test_a_container_that_has_not_started_says_what_it_waits_for(shared: Cluster, api: PlainClient):
    shared.behave("slow", start_delay="1h")
    api.create_pod("slow")
    assert log(shared, "slow") == []  # on no node
    shared.step("5s")
    told = 'container "app" in pod "slow" is waiting to start: ContainerCreating'
    assert refusal(shared, "slow") == (400, "BadRequest", told)
    assert refusal(shared, "slow", tailLines=-1)[:2] == (422, "Invalid")
    assert refusal(shared, "nobody") == (404, "NotFound", 'pods "nobody" not found')


def test_a_follower_of_a_log_reads_on_as_time_passes(shared: Cluster, api: PlainClient):
    shared.behave("goes-on", output="tick", output_every="10s")
    api.create_pod("goes-on")
    shared.step("5s")
    with opened(shared, "goes-on", follow="true") as answer:
        assert answer.readline() == b"tick\n"
        shared.step("20s")
        assert (answer.readline(), answer.readline()) == (b"tick\n", b"tick\n")
        shared.say("goes-on", "the last word")
        shared.exit("goes-on")
        assert answer.read() == b"the last word\n"


def test_an_output_that_is_taken_back_ends(shared: Cluster, api: PlainClient):
    shared.behave("falls-silent", output="tick", output_every="10s")
    api.create_pod("falls-silent")
    shared.step("15s")
    shared.behave("falls-silent", output="")
    shared.step("1m")
    assert log(shared, "falls-silent") == ["tick", "tick"]


def test_log_followers_cost_the_cluster_no_thread(shared: Cluster, api: PlainClient):
    for number in range(5):
        api.create_pod(f"followed-{number}")
    shared.step("5s")

    def threads() -> int:
        return len(os.listdir(f"/proc/{shared.pid}/task"))

    before = threads()
    answers = [opened(shared, f"followed-{number}", follow="true") for number in range(5)]
    waiting = threading.Thread(target=lambda: [answer.read() for answer in answers])
    waiting.start()
    assert threads() == before
    for number in range(5):
        shared.exit(f"followed-{number}")
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (lambda c: c.kill_agent("node-0", away="1m"), "connection refused"),
        (lambda c: c.pause_agent("node-0", "1m"), "i/o timeout"),
        (lambda c: c.cut_network("node-0", "1m"), "i/o timeout"),
    ],
)
def test_an_agent_that_cannot_be_reached_is_named_and_found_again(
    shared: Cluster, api: PlainClient, trouble: Callable[[Cluster], None], told: str
):
    name = f"unreached-{int(shared.now * 1000)}"
    api.create_pod(name)
    shared.step("5s")
    shared.say(name, "hello")
    trouble(shared)
    code, reason, message = refusal(shared, name)
    assert (code, reason) == (503, "ServiceUnavailable")
    assert message == f"error trying to reach the agent of node node-0 at 198.18.0.1:10250: {told}"
    shared.step("2m")
    assert log(shared, name) == ["hello"]


def test_a_node_without_power_has_no_way_to_it():
    with cluster() as found:
        PlainClient(found).create_pod("web")
        found.step("5s")
        found.kill_node("node-0")
        assert "no route to host" in refusal(found, "web")[2]
