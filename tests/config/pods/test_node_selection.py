"""Which taints of a node a pod bears, and for how long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.objects import PodSpec, Taint, Toleration
from config.pods.node_selection import stays_seconds, tolerated, tolerates

DOWN = Taint(key="down", effect="NoExecute")
SOLD = Taint(key="sold", value="yes", effect="NoExecute")


@pytest.mark.parametrize(
    ("taints", "tolerations", "seconds"),
    [
        ([], [], None),
        ([DOWN], [], 0),
        ([DOWN], [Toleration(operator="Exists")], None),
        ([DOWN], [Toleration(key="down", operator="Exists", effect="NoSchedule")], 0),
        ([DOWN], [Toleration(key="down", operator="Exists", toleration_seconds=300)], 300),
        ([DOWN], [Toleration(key="down", operator="Exists", toleration_seconds=-5)], 0),
        ([DOWN, SOLD], [Toleration(key="down", operator="Exists", toleration_seconds=300)], 0),
        (
            [DOWN, SOLD],
            [Toleration(key="down", operator="Exists", toleration_seconds=300), Toleration(key="sold", value="yes")],
            300,
        ),
        (
            [DOWN, SOLD],
            [
                Toleration(key="down", operator="Exists", toleration_seconds=300),
                Toleration(key="sold", value="yes", toleration_seconds=60),
            ],
            60,
        ),
    ],
)
def test_a_pod_stays_as_long_as_it_tolerates_every_taint(
    taints: list[Taint], tolerations: list[Toleration], seconds: int | None
):
    assert stays_seconds(taints, tolerations) == seconds


WORDS = st.sampled_from(["", "a", "b"])
TOLERATIONS = st.builds(
    Toleration, key=WORDS, operator=st.sampled_from(["Exists", "Equal", ""]), value=WORDS, effect=WORDS
)


@given(st.builds(Taint, key=st.sampled_from("ab"), value=WORDS, effect=st.sampled_from("ab")), st.lists(TOLERATIONS))
def test_what_is_read_once_of_tolerations_says_the_same_as_each_of_them(taint: Taint, tolerations: list[Toleration]):
    spec = PodSpec(tolerations=tuple(tolerations))
    assert tolerates(spec, taint) is tolerated(taint, tolerations)
