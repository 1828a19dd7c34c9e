"""Calls to the runtime are counted and timed by their verb."""

from __future__ import annotations

import pytest

from actors.kernel import SimulatedDispatcher
from runtime.cri import CriError
from runtime.cri.messages import (
    GetEventsRequest,
    ListContainersRequest,
    PodSandboxConfig,
    PodSandboxMetadata,
    RunPodSandboxRequest,
    StartContainerRequest,
)
from runtime.cri.verbs import ALL_VERBS, GET_CONTAINER_EVENTS, LIST_CONTAINERS, RUN_POD_SANDBOX, START_CONTAINER
from runtime.metrics import kubelet as names
from runtime.metrics.measured_cri import MeasuredCri, operation_type
from runtime.metrics.meters import Meters
from simulation.cri import SimulatedCri


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("RunPodSandbox", "run_podsandbox"),
        ("ListPodSandboxStats", "list_podsandbox_stats"),
        ("UpdateContainerResources", "update_container"),
        ("ExecSync", "exec_sync"),
        ("ImageFsInfo", "image_fs_info"),
        ("Version", "version"),
    ],
)
def test_verbs_are_named_as_a_kubelet_names_them(verb: str, name: str) -> None:
    assert operation_type(verb) == name


def test_every_verb_has_a_name_of_its_own() -> None:
    assert len({operation_type(verb.name) for verb in ALL_VERBS}) == len(ALL_VERBS)


# (spec 11.7.3)
def test_calls_failures_and_sandboxes_are_counted() -> None:
    dispatcher, meters = SimulatedDispatcher(seed=1), Meters()
    cri = MeasuredCri(SimulatedCri(dispatcher), meters, dispatcher.now_ns, dispatcher.wall_ns)
    config = PodSandboxConfig(metadata=PodSandboxMetadata(name="a", uid="u", namespace="n"))
    heard: list[object] = []
    cri.stream(GET_CONTAINER_EVENTS, GetEventsRequest(), heard.append, heard.append)
    cri.call(LIST_CONTAINERS, ListContainersRequest())
    sandbox = cri.call(RUN_POD_SANDBOX, RunPodSandboxRequest(config=config, runtime_handler="none-such"))
    with pytest.raises(CriError):
        cri.call(START_CONTAINER, StartContainerRequest(container_id="gone")).result(0)
    dispatcher.run_for(10**9)
    assert meters.value(names.RUNTIME_OPERATIONS, "list_containers") == 1
    assert meters.value(names.RUNTIME_DURATION, "list_containers") == 1
    assert meters.value(names.RUNTIME_ERRORS, "list_containers") == 0
    assert meters.value(names.RUNTIME_ERRORS, "start_container") == 1
    assert meters.value(names.STARTED_PODS) == 1
    failed = sandbox.exception(0) is not None
    assert meters.value(names.SANDBOX_ERRORS, "none-such") == failed
    assert meters.value(names.SANDBOX_DURATION, "none-such") == 1
    assert meters.value(names.EVENTED_CONNECTIONS) == bool(heard)
