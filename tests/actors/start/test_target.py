"""Which container an ephemeral one looks at."""

from __future__ import annotations

import pytest

from actors.model.observed import ObservedPod
from actors.model.refusal import ContainerRefusedError
from actors.start.cri_configs import target_id
from config.objects import Container, EphemeralContainer
from tests.actors.pod_pictures import CREATED, EXITED, UNKNOWN, container, picture, seen

PATH = "$.spec.ephemeralContainers[0]"
LOOKS_AT_A = EphemeralContainer(name="debug", image="image:1", target_container_name="a")


@pytest.mark.parametrize("one", [container("debug"), EphemeralContainer(name="debug")])
def test_an_ephemeral_container_without_a_target_name_has_no_target(one: Container) -> None:
    assert target_id(one, PATH, picture()) == ""


def test_the_target_is_the_newest_container_of_the_name() -> None:
    assert target_id(LOOKS_AT_A, PATH, picture(seen("a", EXITED), seen("a", attempt=1))) == "a-1"


@pytest.mark.parametrize(
    "observed",
    [
        picture(),
        picture(seen("b")),
        picture(seen("a", EXITED)),
        picture(seen("a", CREATED)),
        picture(seen("a", UNKNOWN)),
    ],
)
# (spec 3.7.3)
def test_a_target_that_does_not_run_is_refused(observed: ObservedPod) -> None:
    with pytest.raises(ContainerRefusedError, match=r"ephemeralContainers\[0\]\.targetContainerName: container a"):
        target_id(LOOKS_AT_A, PATH, observed)
