"""An image on the node and a service account: the credential program grants access.

The registry is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from actors.kernel import ActorRef, ActorStopped
from actors.messages.images import (
    ImagePulled,
    PullImage,
)
from config.objects import ObjectMeta, Pod, PodSpec
from runtime.cri import StatusCode
from runtime.metrics.kubelet import ENSURE_IMAGE
from runtime.state.pull_record_files import PULLED
from tests.actors.images.record_world import CLOUD, IMAGE, REF, World

PRESENT = ImagePulled(IMAGE, "web", present=True)


@pytest.fixture
def cloud() -> Iterator[World]:
    """A node with an image that the account `builder` has opened."""
    made = World("NeverVerifyPreloadedImages", CLOUD)
    made.start()
    made.ask("first", account="builder")
    made.give("sa-1")
    made.end()
    assert [each.name for each in made.record()["r.io/app"].kubernetes_service_accounts] == ["builder"]
    yield made
    assert made.system.stop()


@pytest.mark.parametrize("policy", ["IfNotPresent", "Never"])
def test_a_pod_of_the_account_that_opened_an_image_uses_it_without_the_registry(cloud: World, policy: str) -> None:
    cloud.start()  # the next agent does as well
    assert cloud.ask("second", present=REF, policy=policy, account="builder") == []
    cloud.give("sa-1")
    assert cloud.workers["second"][1] == [PRESENT]
    assert (len(cloud.pulls), cloud.said("second")) == (1, ["Pulled"])
    rows = cloud.meters.series(ENSURE_IMAGE, policy.lower(), "true", "false").rows(())
    assert [row.value for row in rows] == [1]


@pytest.mark.parametrize("given", ["", "sa-2"])
def test_a_program_that_gives_nothing_for_the_account_of_the_record_opens_nothing(cloud: World, given: str) -> None:
    """It gave nothing, or the account was made anew under its name."""
    cloud.ask("second", present=REF, account="builder")
    cloud.give(given)
    assert (len(cloud.pulls), cloud.said("second")) == (2, ["Pulling"])
    cloud.end(StatusCode.UNKNOWN)
    assert [answer.reason for answer in cloud.workers["second"][1]] == ["ErrImagePull"]
    cloud.ask("third", present=REF, policy="Never", account="builder")
    cloud.give(given)
    assert [answer.reason for answer in cloud.workers["third"][1]] == ["ErrImageNeverPull"]
    assert (len(cloud.pulls), cloud.said("third")) == (2, ["ErrImageNeverPull", "Failed"])


def test_pods_of_other_accounts_and_with_a_good_secret_ask_no_program_for_what_is_here(cloud: World) -> None:
    cloud.ask("with-secret", "pull")
    cloud.end()
    asked = len(cloud.asked)
    assert cloud.ask("friend", "pull", present=REF, account="builder") == [PRESENT]
    (refused,) = cloud.ask("stranger", present=REF, policy="Never", account="other")
    assert (refused.reason, len(cloud.asked)) == ("ErrImageNeverPull", asked)


def test_containers_of_one_pod_share_the_answer_of_a_program(cloud: World) -> None:
    cloud.ask("second", present=REF, account="builder")
    ref, answers = cloud.workers["second"]
    cloud.images.tell(msgspec.structs.replace(_question(cloud, ref), container="side"))
    cloud.run(0)
    cloud.give("sa-1")
    assert answers == [PRESENT, ImagePulled(IMAGE, "side", present=True)]
    assert len(cloud.asked) == 2


def test_a_pod_that_goes_while_a_program_is_asked_leaves_nothing(cloud: World) -> None:
    cloud.ask("second", present=REF, account="builder")
    ref, answers = cloud.workers["second"]
    cloud.images.tell(ActorStopped(ref, ref.path))
    cloud.run(0)
    cloud.give("sa-1")
    assert (answers, len(cloud.pulls), cloud.files.kinds()) == ([], 1, [PULLED])


def _question(world: World, worker: ActorRef) -> PullImage:
    meta = ObjectMeta(name="second", namespace="ns", uid="second")
    pod = Pod(metadata=meta, spec=PodSpec(service_account_name="builder"))
    return PullImage(worker, pod, "web", IMAGE, "", present=REF, policy="IfNotPresent")
