"""A new form of the pod is noticed once."""

from __future__ import annotations

import pytest

from actors.messages.events import RecordEvent
from actors.pod.one_pass import CONTINUE
from actors.pod.steps.fields_honoured import FieldsHonoured
from config.objects import Lifecycle, Pod, ResourceRequirements
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import container, pod

PLAIN = pod("app")
SIGNAL = pod(container("app", lifecycle=Lifecycle(stop_signal="SIGUSR1")))
SAME_SIGNAL = pod(container("app", lifecycle=Lifecycle(stop_signal="SIGUSR1")), policy="Never")
SMALL = pod(container("app", resources=ResourceRequirements(requests={"cpu": "1"})))
LARGE = pod(container("app", resources=ResourceRequirements(requests={"cpu": "2"})))


@pytest.mark.parametrize(
    ("forms", "warnings"),
    [
        pytest.param((PLAIN, PLAIN), 0, id="nothing to say"),
        pytest.param((SIGNAL, SIGNAL), 1, id="said once for each form"),
        pytest.param((SIGNAL, SAME_SIGNAL), 1, id="another form with the same fields is no news"),
        pytest.param((PLAIN, SIGNAL), 1, id="a field comes"),
        pytest.param((SMALL, LARGE), 0, id="resources change, which is a resize"),
    ],
)
def test_fields_that_are_not_honoured_cause_a_warning_once(forms: tuple[Pod, ...], warnings: int):
    bench = Bench(RecordEvent)
    assert [bench.outcome(bench.step_of(FieldsHonoured), form) for form in forms] == [CONTINUE] * len(forms)
    assert len(bench.asked) == warnings
