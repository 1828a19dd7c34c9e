"""The status of a pod: what holds whatever the picture (spec 4.1 to 4.4)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.model.observed import ObservedPod
from actors.pod_status.api_status import NOT_FORCED, Forced, StatusNodeView, compute_pod_status
from actors.pod_status.container_statuses import ContainerWaiting
from config.objects import Container, ContainerRestartRule, ContainerRestartRuleOnExitCodes
from tests.actors.pod_pictures import NOW_NS, SECOND_NS, container, pod
from tests.actors.pod_rules.any_pictures import pictures
from tests.actors.pod_rules.pod_decisions import FIRST, SECOND, SIDE

_NODE = StatusNodeView(("192.0.2.1",), "containerd")
_NAMES = st.frozensets(st.sampled_from(["i", "s", "j", "a", "b"]), max_size=2)
_RULES = (
    ContainerRestartRule(
        action="RestartAllContainers",
        exit_codes=ContainerRestartRuleOnExitCodes(operator="In", values=(1,)),
    ),
)


@st.composite
def _asked(draw: st.DrawFn) -> dict[str, Any]:
    """What a status is computed from besides the pod, the picture and the one before."""
    waiting = {name: ContainerWaiting("CrashLoopBackOff", "later") for name in draw(_NAMES)}
    forced = draw(st.sampled_from([NOT_FORCED, Forced("Failed", "Evicted", "the node is low on memory", True)]))
    return {"waiting": waiting, "ended": draw(st.booleans()), "forced": forced, "coming": draw(_NAMES)}


def _regular(ruled: bool) -> tuple[Container, ...]:
    rules: dict[str, Any] = {"restart_policy": "Never", "restart_policy_rules": _RULES} if ruled else {}
    return container("a", **rules), container("b")


@given(st.sampled_from(["Always", "OnFailure", "Never"]), st.booleans(), st.lists(pictures(), min_size=1), _asked())
def test_a_status_that_is_computed_again_from_itself_stays_as_it_is(
    policy: str, ruled: bool, looks: list[ObservedPod], asked: dict[str, Any]
) -> None:
    """Whoever shows a pod may keep the status as long as nothing else has changed, whatever time it is."""
    the_pod = pod(*_regular(ruled), init=(FIRST, SIDE, SECOND), policy=policy)
    status = None
    for now_s, look in enumerate(looks):
        now_ns = NOW_NS + now_s * 60 * SECOND_NS
        status = compute_pod_status(the_pod, look, previous=status, wall_ns=now_ns, node=_NODE, **asked)
        again = compute_pod_status(the_pod, look, previous=status, wall_ns=now_ns + SECOND_NS, node=_NODE, **asked)
        assert again is status
