"""Writes that fail, are refused, lose against others, or are stored differently."""

from __future__ import annotations

import json

import pytest

from actors.messages.status import PodReconciled
from actors.status.manager import SWEEP_NS
from actors.status.urgency import ON_ITS_WAY_NS
from runtime.api import ApiError
from tests.actors.manual_api import unreachable
from tests.actors.status.written_pods import SECOND_NS, SOON_NS, World, api_pod, ready


def test_while_nobody_answers_one_write_at_a_time_tries_it_and_afterwards_each_pod_costs_one(world: World):
    for number in range(100):
        world.tell(f"pod-{number}", ready())
    while world.api.open_calls:  # all that were under way when it went away
        world.api.fail(unreachable())
    world.run()
    tried = len(world.api.calls)
    for _ in range(60):  # ten minutes
        assert len(world.api.open_calls) <= 1
        if world.api.open_calls:
            world.api.fail(unreachable())
        world.run(10 * SECOND_NS)
    assert len(world.api.calls) - tried < 70
    before = len(world.api.calls) - len(world.api.open_calls)
    for round_number in range(5):
        world.tell("pod-5", ready(value=str(round_number % 2 == 0)))
    world.tell("worst", ready("Failed", "False"), final=True)
    world.run(15 * SECOND_NS)
    while world.api.open_calls:
        world.accept()
        world.run(SOON_NS)
    written = world.names()[before:]
    assert sorted(written) == sorted({*written}), "one write a pod"
    assert len(written) == 101
    assert "worst" in written[:2]


# (spec 4.5.1)
def test_a_refusal_is_tried_again_with_the_sweep_and_said_once(world: World, caplog: pytest.LogCaptureFixture):
    world.tell("web", ready())
    for _ in range(3):
        world.api.fail(ApiError(422, "Invalid", "no", "patch pods/status"))
        world.run(SWEEP_NS + SECOND_NS)
    assert len(world.api.calls) == 4
    assert caplog.text.count("is refused") == 1


def test_a_pod_whose_status_breaks_the_server_is_tried_with_the_sweep_and_holds_up_nobody(
    world: World, caplog: pytest.LogCaptureFixture
):
    """A pod that fills the API's limit has no room for its status: the API server answers 500."""
    too_large = ApiError(500, "InternalError", "etcdserver: request is too large", "patch pods/status")
    world.tell("small-0", ready())
    world.accept()
    world.tell("huge", ready())
    for number in range(1, 30):
        world.tell(f"small-{number}", ready())
        while world.api.open_calls:
            if world.api.open_calls[0][0].path.endswith("/huge/status"):
                world.api.fail(too_large)
                world.run()
            else:
                world.accept()
        assert world.names()[-1] == f"small-{number}" or number % 10 == 0
        world.run(SECOND_NS)
    assert world.names().count("small-29") == 1
    assert world.names().count("huge") == 3
    assert caplog.text.count("the status of pod default/huge is refused: ") == 1


ANOTHER = "Precondition failed: UID in precondition: uid-web, UID in object meta: another"
CONTENTION = "the object has been modified; please apply your changes to the latest version and try again"


@pytest.mark.parametrize("error", [ApiError(404, "NotFound", "", "patch"), ApiError(409, "Conflict", ANOTHER, "patch")])
# (spec 4.5.5)
def test_a_pod_that_is_gone_is_left_alone_until_it_is_seen_again(world: World, error: ApiError):
    world.tell("web", ready())
    world.api.fail(error)
    world.tell("web", ready(value="False"))
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 1
    world.manager.tell(PodReconciled(api_pod("web", 50)))
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 2


def test_a_write_that_lost_against_others_is_made_again_though_what_they_wrote_was_seen_before(
    world: World, caplog: pytest.LogCaptureFixture
):
    world.tell("web", ready())
    world.manager.tell(PodReconciled(api_pod("web", 50)))
    world.run()
    world.api.fail(ApiError(409, "Conflict", CONTENTION, "patch pods/status default/web"))
    world.run(SWEEP_NS + SECOND_NS)
    assert len(world.api.calls) == 2
    assert "refused" not in caplog.text


# (spec 4.5.8)
def test_a_status_overwritten_by_somebody_else_is_written_again(world: World):
    world.tell("web", ready())
    world.accept()
    meddled = api_pod("web", 77, status=ready(value="False"))
    world.manager.tell(PodReconciled(meddled))
    world.run()
    body = json.loads(world.api.calls[1].body or b"")
    assert body["status"]["conditions"][0]["status"] == "True"


def test_a_status_that_the_api_stores_differently_is_written_once(world: World):
    world.tell("web", ready(message="long"))
    world.api.answer(api_pod("web", 2, status=ready(message="lo")))
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 1
    world.tell("web", ready(message="other"))
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 2


def test_a_field_that_somebody_changed_during_a_write_is_written_after_it(world: World):
    world.pods["web"] = api_pod("web", status=ready())
    world.tell("web", ready(message="news"))
    world.run(2 * ON_ITS_WAY_NS)
    # The node was not heard of for a while, and the cluster has said so of its pods.
    world.api.answer(api_pod("web", 3, status=ready(value="False", message="news")))
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 2
    body = json.loads(world.api.calls[1].body or b"")
    assert [(each["type"], each["status"]) for each in body["status"]["conditions"]] == [("Ready", "True")]


def test_an_answer_that_changes_nothing_ends_the_matter(world: World):
    world.tell("web", ready(message="long"))
    world.api.answer(world.pods["web"])  # the very same object, of the same version
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 1


def test_a_write_whose_answer_was_lost_is_made_again(world: World):
    world.tell("web", ready())
    world.accept()
    world.tell("web", ready(value="False"))
    world.api.fail(unreachable())
    world.run(5 * SECOND_NS)
    assert world.accept()["status"]["conditions"][0]["status"] == "False"


# (spec 4.5.5)
def test_another_pod_of_the_name_is_not_written_to_again(world: World):
    world.tell("web", ready())
    message = 'Pod "web" is invalid: metadata.uid: Invalid value: "uid-web": field is immutable'
    world.api.fail(ApiError(422, "Invalid", message, "patch pods/status default/web"))
    world.tell("web", ready(value="False"))
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 1
