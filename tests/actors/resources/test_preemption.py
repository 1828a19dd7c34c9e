"""Who makes way for a critical pod (spec 10.15)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.model.allocation import Allocation
from actors.resources.predicates import Shortage
from actors.resources.preemption import NoVictimsError, may_preempt, victims
from config.frozen_map import FrozenMap
from config.pods.identity import QosClass
from config.values.quantity import NANOS, parse_quantity

B, U, G = QosClass.BEST_EFFORT, QosClass.BURSTABLE, QosClass.GUARANTEED
CRITICAL = Allocation("mine", "kube-system", "mine", FrozenMap(), priority=2_000_000_000, critical=True)


def there(name: str, qos: QosClass, cpu: str = "0", memory: str = "0", **fields: object) -> Allocation:
    requests = {"cpu": parse_quantity(cpu).nanos, "memory": parse_quantity(memory).nanos}
    return Allocation(name, "shop", name, FrozenMap(requests), qos=qos, **fields)  # type: ignore[arg-type]  # of a table


def short(resource: str, amount: str) -> Shortage:
    """All is used, and that much more is wanted."""
    return Shortage(resource, parse_quantity(amount).nanos, 0, 0)


@pytest.mark.parametrize(
    ("pods", "shortages", "ended"),
    [
        pytest.param([there("u", U, "1")], [short("cpu", "1")], ["u"], id="the only one"),
        pytest.param([there("g", G, "1"), there("u", U, "1")], [short("cpu", "1")], ["u"], id="burstable first"),
        pytest.param(
            [there("b", B), there("u", U, "1"), there("g", G, "2")],
            [short("cpu", "2")],
            ["g"],
            id="guaranteed where all others are not enough, and then nobody else",
        ),
        pytest.param(
            [there("u1", U, "1"), there("u2", U, "2"), there("u3", U, "500m")],
            [short("cpu", "2")],
            ["u2"],
            id="one that is enough rather than two",
        ),
        pytest.param(
            [there("u1", U, "3"), there("u2", U, "2")], [short("cpu", "1")], ["u2"], id="the smaller among equals"
        ),
        pytest.param(
            [there("u1", U, "1", "1Gi"), there("u2", U, "1", "3Gi")],
            [short("cpu", "1"), short("memory", "1Gi")],
            ["u1"],
            id="every resource that is short counts",
        ),
        pytest.param(
            [there("b", B), there("u", U, "1")], [Shortage("pods", NANOS, NANOS, NANOS)], ["b"], id="a place for a pod"
        ),
        pytest.param(
            [there("b", B), there("u", U, "1")],
            [Shortage("pods", NANOS, NANOS, NANOS), short("cpu", "1")],
            ["u"],
            id="who has to go anyhow leaves a place",
        ),
        pytest.param(
            [there("c", U, "9", critical=True), there("u", U, "1")],
            [short("cpu", "1")],
            ["u"],
            id="no critical pod",
        ),
    ],
)
# (spec 10.15.2)
def test_10_15_the_smallest_set(pods: list[Allocation], shortages: list[Shortage], ended: list[str]) -> None:
    assert [each.uid for each in victims(CRITICAL, pods, shortages)] == ended


# (spec 10.15.2)
def test_10_15_no_pod_is_preempted_when_it_would_not_help() -> None:
    with pytest.raises(NoVictimsError, match="cpu by 500m"):
        victims(CRITICAL, [there("u", U, "1500m"), there("c", G, "9", critical=True)], [short("cpu", "2")])


@pytest.mark.parametrize(
    ("mine", "other", "may"),
    [
        (CRITICAL, there("u", U), True),
        (CRITICAL, there("c", U, critical=True), False),
        (CRITICAL, there("c", U, critical=True, priority=2_000_000_000), False),
        (
            Allocation("m", "n", "m", FrozenMap(), priority=2_000_001_000, critical=True),
            there("c", U, critical=True, priority=2_000_000_000),
            True,
        ),
        (there("a", U, priority=5), there("b", U, priority=4), True),
        (there("a", U, priority=5), there("b", U), False),
    ],
)
# (spec 1.3.5)
def test_10_15_non_critical_or_of_lower_priority(mine: Allocation, other: Allocation, may: bool) -> None:
    assert may_preempt(mine, other) is may


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([B, U, G]), st.integers(0, 4), st.integers(0, 4), st.booleans()), max_size=8),
    st.integers(1, 6),
    st.integers(1, 6),
)
# (spec 10.15.2)
def test_10_15_the_set_is_enough_and_leaves_none_out(
    pods: list[tuple[QosClass, int, int, bool]], cpu: int, memory: int
) -> None:
    rows = [
        Allocation(f"p{index}", "shop", "p", FrozenMap({"cpu": cpus, "memory": size}), qos=qos, critical=critical)
        for index, (qos, cpus, size, critical) in enumerate(pods)
    ]
    shortages = [Shortage("cpu", cpu, 0, 0), Shortage("memory", memory, 0, 0)]

    def frees(gone: list[Allocation]) -> bool:
        return all(sum(each.requests[one.resource] for each in gone) >= one.missing() for one in shortages)

    movable = [row for row in rows if not row.critical]
    if not frees(movable):
        with pytest.raises(NoVictimsError):
            victims(CRITICAL, rows, shortages)
        return
    chosen = list(victims(CRITICAL, rows, shortages))
    assert frees(chosen)
    assert not any(each.critical for each in chosen)
    if frees([row for row in movable if row.qos is not G]):
        assert all(each.qos is not G for each in chosen)
