"""The agent's views while the actor that knows the pods does not answer.

They never say that there are no pods.
"""

from __future__ import annotations

import json

import msgspec
import pytest

from actors.kernel import Promise
from cli.inspect.explanation import Explanation, next_lines
from cli.inspect.local_views import EXPLAIN, PODS, questions_of, views_of
from cli.inspect.pods import refusal_in
from cli.run.node_server import NodeWindow
from runtime.http_server.local_endpoint import Answer, Reply
from tests.simulation.node.worlds import SECOND, World, manifest


@pytest.fixture
def world() -> World:
    made = World({"web.yaml": manifest("web")}).start()
    made.run(20 * SECOND)
    return made


def silence(world: World) -> None:
    """The actor that publishes the pods no longer answers."""
    ref = world.node.node.system.find("/node/status-manager")
    assert ref is not None
    ref.stop()
    world.run(SECOND)


def words(reply: Reply) -> str:
    """What `actorlet pods` and `actorlet explain` tell of it."""
    return refusal_in(Answer(reply.body, reply.status, 0))


def test_a_list_of_no_pods_says_that_there_are_none_and_nothing_else_does(world: World) -> None:
    view = views_of(world.node.node)[PODS]
    assert [each["metadata"]["name"] for each in json.loads(view().body)["items"]] == ["web-node"]
    silence(world)
    reply = view()
    assert reply.status == 503
    assert words(reply).startswith("which pods there are is not known now")


def test_a_pod_that_is_remembered_is_explained_and_of_others_it_is_not_said_that_there_are_none(world: World) -> None:
    explain = questions_of(world.node.node)[EXPLAIN]
    assert (explain("web").status, explain("other").status) == (200, 404)
    silence(world)
    assert (explain("web").status, explain("other").status) == (200, 503)
    assert words(explain("other")).startswith("which pods there are is not known now")


def test_the_place_of_a_pod_on_the_lanes_is_explained_and_observed(world: World) -> None:
    """With a disk that hangs for it."""
    (pod,) = world.node.pods()
    lane = world.node.node.system.dispatcher.lane("disk", size=3, per_key=2)
    for _ in range(3):
        lane.submit(pod.metadata.uid, lambda: Promise[None](), deadline_ns=SECOND)
        world.run(2 * SECOND)
    lane.submit(pod.metadata.uid, int)
    told = json.loads(questions_of(world.node.node)[EXPLAIN]("web").body)
    words = "lane disk: 1 call waits, 3 hang; the next starts when one of its own has returned"
    assert told["lanes"] == [words]
    assert words in next_lines(msgspec.convert(told, Explanation))
    seen = json.loads(NodeWindow(world.node.node).look()["lane/disk"])
    assert seen["hanging"] == 3
    assert {"key": pod.metadata.uid, "running": 0, "waiting": 1, "hanging": 3, "before": None} in seen["keys"]


def test_an_observer_goes_on_seeing_the_pods_of_before(world: World) -> None:
    window = NodeWindow(world.node.node)
    before = {key: part for key, part in window.look().items() if key.startswith("pod/")}
    assert len(before) == 1
    silence(world)
    for _ in range(2):
        after = window.look()
        assert {key: part for key, part in after.items() if key.startswith("pod/")} == before
