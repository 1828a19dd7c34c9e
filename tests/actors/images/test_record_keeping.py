"""`ImagePullActor` and pull records: what is on disk around each pull.

Also who may use an image that is on the node.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actors.images.record_keeping import LOAD_AGAIN_NS
from actors.kernel import ActorStopped
from actors.messages.images import (
    ImagePulled,
    ImageRemoved,
)
from runtime.cri import StatusCode
from runtime.cri.messages import Image
from runtime.metrics.kubelet import ENSURE_IMAGE, MUST_PULL_CHECKS
from runtime.state.pull_record_files import PULLED, PULLING
from tests.actors.images.record_world import IMAGE, REF, SECOND_NS, World


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    assert made.system.stop()


# (spec 6.4.2)
def test_no_pull_begins_before_its_intent_is_on_disk(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    assert world.at_call == [[PULLING]]
    assert world.files.kinds() == [PULLED]


def test_an_intent_that_cannot_be_written_is_a_failed_pull(world: World) -> None:
    world.start()
    world.files.error = OSError("disk full")
    (failed,) = world.ask("a")
    assert (failed.reason, world.pulls) == ("ErrImagePull", [])
    assert failed.message.startswith("failed to record image pull intent: ")
    assert "disk full" in failed.message


@pytest.mark.parametrize(("code", "left"), [(StatusCode.UNKNOWN, []), (StatusCode.UNAVAILABLE, [PULLING])])
def test_an_intent_stays_when_the_runtime_may_still_bring_the_image(
    world: World, code: StatusCode, left: list[str]
) -> None:
    world.start()
    world.ask("a")
    world.end(code)
    assert world.files.kinds() == left


def test_a_pull_that_nobody_waits_for_any_more_leaves_its_intent_until_a_look(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    ref, _ = world.workers["a"]
    world.images.tell(ActorStopped(ref, ref.path))
    world.run(0)
    assert world.files.kinds() == [PULLING]
    world.seen(Image(id=REF, repo_tags=(IMAGE,)))
    assert (world.files.kinds(), world.record()) == ([PULLED], {})


def test_a_record_has_every_secret_that_shared_the_pull(world: World) -> None:
    world.start()
    world.ask("a", "one")
    world.ask("b", "two")
    world.end()
    assert [each.name for each in world.record()["r.io/app"].kubernetes_secrets] == ["one", "two"]


def test_a_pull_without_credentials_opens_the_image_to_all(world: World) -> None:
    world.start()
    world.ask("a")
    world.end()
    assert world.record()["r.io/app"].node_pods_accessible
    assert world.ask("b", present=REF) == [ImagePulled(IMAGE, "web", present=True)]


# (spec 6.1.3)
def test_an_image_that_is_here_is_pulled_again_by_a_pod_whose_secrets_have_not_opened_it(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    assert world.ask("friend", "pull", present=REF) == [ImagePulled(IMAGE, "web", present=True)]
    said = [event.message for event in world.events if event.uid == "friend"]
    assert said == [f'Container image "{IMAGE}" already present on machine and can be accessed by the pod']
    answers = world.ask("stranger", present=REF)
    world.end(StatusCode.UNKNOWN)
    assert [(answer.reason, answer.message) for answer in answers] == [("ErrImagePull", "no")]
    assert world.ask("copy", "copied", present=REF) == [ImagePulled(IMAGE, "web", present=True)]


# (spec 6.4.4)
def test_a_pod_with_the_policy_never_does_not_learn_that_the_image_is_here(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    (refused,) = world.ask("stranger", present=REF, policy="Never")
    assert (refused.reason, len(world.pulls)) == ("ErrImageNeverPull", 1)
    assert refused.message == f'Container image "{IMAGE}" is not present with pull policy of Never'
    said = [event.message for event in world.events if event.uid == "stranger"]
    assert said == [refused.message, "Error: ErrImageNeverPull"]


def test_the_next_agent_asks_the_same_pods_for_credentials(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    world.start()
    assert world.ask("friend", "pull", present=REF) == [ImagePulled(IMAGE, "web", present=True)]
    assert world.ask("stranger", present=REF) == []
    assert len(world.pulls) == 2


def test_a_request_before_the_records_are_read_is_answered_after_reading(world: World) -> None:
    world.files.error = OSError("stale")
    world.start()
    assert world.ask("a", present=REF) == []
    world.files.error = None
    world.run(LOAD_AGAIN_NS)
    assert world.workers["a"][1] == [ImagePulled(IMAGE, "web", present=True)]


def test_a_request_is_refused_while_the_records_are_unreadable_and_granted_afterwards(world: World) -> None:
    world.files.error = OSError("stale")
    world.start()
    world.ask("a")
    world.run(LOAD_AGAIN_NS)
    (refused,) = world.workers["a"][1]
    assert (refused.reason, refused.retry_at_ns, world.pulls) == (
        "ErrImagePull",
        world.dispatcher.now_ns() + LOAD_AGAIN_NS,
        [],
    )
    assert refused.message.startswith("the records of pulled images cannot be read, so no image may be used: ")
    assert [event.message for event in world.events] == [
        f'Failed to pull image "{IMAGE}": {refused.message}',
        "Error: ErrImagePull",
    ]
    world.files.error = None
    world.run(LOAD_AGAIN_NS)
    world.ask("a")
    assert len(world.pulls) == 1


def test_a_pod_that_has_ended_is_not_answered_when_the_records_come(world: World) -> None:
    world.files.error = OSError("stale")
    world.start()
    world.ask("a")
    ref, answers = world.workers["a"]
    world.images.tell(ActorStopped(ref, ref.path))
    world.files.error = None
    world.run(LOAD_AGAIN_NS)
    assert (world.pulls, answers) == ([], [])


# (spec 6.4.5)
def test_a_record_goes_with_its_image(world: World) -> None:
    world.start()
    world.ask("a")
    world.end()
    world.run(SECOND_NS)
    world.images.tell(ImageRemoved(REF, world.dispatcher.now_ns()))
    world.run(0)
    assert world.files.kinds() == []


def test_looks_at_the_records_are_counted_by_what_they_came_to(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    world.ask("friend", "pull", present=REF)
    world.ask("stranger", present=REF)
    for result in ("credentialRecordFound", "mustAuthenticate"):
        assert [row.value for row in world.meters.series(MUST_PULL_CHECKS, result).rows(())] == [1]
    for required in ("false", "true"):
        rows = world.meters.series(ENSURE_IMAGE, "ifnotpresent", "true", required).rows(())
        assert [row.value for row in rows] == [1]
