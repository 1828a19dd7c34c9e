"""Images on containerd when their file system fills (spec 6.5).

It is a small one of their own, on a loop device.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from actors.images.removal import sandbox_image_in
from runtime.cri.client import GrpcCri
from runtime.cri.messages import ListImagesRequest, StatusRequest
from runtime.cri.verbs import LIST_IMAGES, STATUS
from tests.real import images as made
from tests.real.agent import Agent
from tests.real.components import complaint
from tests.real.containerd import Containerd
from tests.real.pods import Truth, container, pod
from tests.real.small_disk import MIB, small_disk, used_percent

DISK_MIB = 160
PAYLOAD_MIB = 6
"""Of each image. It is there twice: as it was pulled, and unpacked."""
NAMES = tuple(f"actorlet.test/heavy:{number}" for number in range(6))
LOW, HIGH = 25, 35


@pytest.fixture
def full_containerd() -> Iterator[Containerd]:
    """A private containerd whose root is a small file system."""
    why = complaint()
    if why is not None:
        pytest.fail(why, pytrace=False)
    private = Containerd()
    disk, root = private.directory / "disk", private.directory / "root"
    with ExitStack() as stack:
        try:
            stack.enter_context(small_disk(disk, root, DISK_MIB))
            private.start()
            recipes = [made.Recipe(made.PAUSE, {"Entrypoint": ["/bin/busybox", "sleep", made.FOREVER]})]
            recipes += [made.Recipe(name, {"Cmd": ["sh"]}, PAYLOAD_MIB * MIB) for name in NAMES]
            private.load([made.build(recipe) for recipe in recipes])
            yield private
        finally:
            private.stop()  # before its disk goes


@pytest.fixture
def full_agent(full_containerd: Containerd) -> Iterator[Agent]:
    agent = Agent(Path(tempfile.mkdtemp(prefix="agent-", dir=full_containerd.directory)), full_containerd.endpoint)
    yield agent
    agent.take_down()


def images(cri: GrpcCri) -> set[str]:
    return {tag for image in cri.call(LIST_IMAGES, ListImagesRequest()).result(20).images for tag in image.repo_tags}


def test_6_5_images_go_down_to_the_low_threshold_and_none_in_use_is_lost(
    full_containerd: Containerd, full_agent: Agent
) -> None:
    agent, root = full_agent, full_containerd.directory / "root"
    agent.drop("user.json", pod("user", container(script="sleep 1000", image=NAMES[2])))
    agent.start()
    agent.await_running("user")
    assert used_percent(root) > HIGH
    agent.terminate()
    with full_containerd.connect() as cri:
        assert images(cri) == {made.PAUSE, *NAMES}
        config = cri.call(STATUS, StatusRequest(verbose=True)).result(20).info.get("config", "")
        assert sandbox_image_in(config) == made.PAUSE, "it is not pinned here, and must be known to be kept"
        life = Truth(cri).lives("user")
        agent.configure(imageMinimumGCAge="1s", imageGCHighThresholdPercent=HIGH, imageGCLowThresholdPercent=LOW)
        agent.start()
        agent.await_that(lambda: used_percent(root) <= LOW, f"{used_percent(root)}% are used, and stay so")
        agent.await_that(lambda: "was removed" in agent.said(), "nothing is said of the images that went")
        left = images(cri)
        assert {made.PAUSE, NAMES[2]} < left, "what is in use has gone"
        assert len(left) > 2, "more has gone than had to"
        assert [each.id for each in Truth(cri).lives("user")] == [each.id for each in life]
        reasons = [each.event.reason for each in agent.events()]
        assert "FreeDiskSpaceFailed" not in reasons
        shortage_frees_what_nobody_needs(agent, root, cri)
        assert [each.id for each in Truth(cri).lives("user")] == [each.id for each in life]


def shortage_frees_what_nobody_needs(agent: Agent, root: Path, cri: GrpcCri) -> None:
    """A shortage of image space is ended by removing unused images.

    Those that were there before go first, and then no pod has to.
    """
    agent.terminate()
    free = 100 - used_percent(root)
    agent.configure(evictionHard={"memory.available": "0%", "imagefs.available": f"{free + 3:.1f}%"})
    agent.start()
    agent.await_that(lambda: images(cri) == {made.PAUSE, NAMES[2]}, "not all went that nobody uses")
    agent.await_that(lambda: "EvictionThresholdMet" in {each.event.reason for each in agent.events()}, "nobody is told")
    agent.await_that(lambda: agent.status("user").phase == "Running", "the pod has gone")
