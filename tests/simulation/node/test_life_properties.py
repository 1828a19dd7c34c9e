"""What holds of every pod, whatever it is made of and whatever the runtime does to it (spec 2 to 4)."""

from __future__ import annotations

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.simulation.node.life_properties import PROPERTIES
from tests.simulation.node.random_lives import Plan, plans, play


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans(), seed=st.integers(0, 10**6))
def test_whatever_happens_a_pod_lives_by_its_rules(plan: Plan, seed: int) -> None:
    life = play(plan, seed)
    event(f"ended as {life.phases[-1] if life.phases else 'nothing'}")
    for holds in PROPERTIES:
        holds(life)
