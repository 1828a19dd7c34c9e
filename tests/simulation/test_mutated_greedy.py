"""The scenario of greedy pods can fail: agents in which one pod's work takes the turns of others are found out."""

from __future__ import annotations

from typing import Any

import pytest

import actors.kernel.lanes
from actors.kernel.turns import Turns
from actors.messages.volumes import PrepareVolumes
from actors.start.pod_fields import map_lines
from actors.volumes.calls import VolumeCalls
from actors.volumes.reconciler import VolumeReconcilerActor
from tests.simulation.test_greedy_pods import played

Mutate = pytest.MonkeyPatch
RULE = "no-pod-takes-anothers-turn"
SIZE = "128Ki"


def is_found_out(field: str) -> bool:
    return RULE in {violation["invariant"] for violation in played(field, SIZE).violations}


def test_an_agent_whose_lanes_are_queues_without_turns_is_found_out(monkeypatch: Mutate):
    class OneQueue(Turns[Any]):
        """All calls have one key, which may have every slot."""

        def __init__(self, size: int, per_key: int, max_slow: int) -> None:
            super().__init__(size, size, max_slow)

        def join(self, call: Any) -> None:
            call.key = "everyone"
            super().join(call)

    monkeypatch.setattr(actors.kernel.lanes, "Turns", OneQueue)
    monkeypatch.setattr(VolumeCalls, "has_room", lambda *_: True)  # the window of a pod is another defence
    assert is_found_out("spec.volumes[*]")


def test_an_agent_whose_shared_actor_formats_the_files_of_pods_is_found_out(monkeypatch: Mutate):
    handlers = VolumeReconcilerActor.message_handlers
    prepare = handlers[PrepareVolumes]

    def formatting(actor: Any, message: PrepareVolumes) -> Any:
        """Make each file of the pod, as the reconciler did before each pod had an actor for it."""
        for volume in message.pod.spec.volumes:
            for _ in volume.downward_api.items if volume.downward_api is not None else ():
                map_lines(message.pod.metadata.annotations)
        return prepare(actor, message)

    monkeypatch.setattr(VolumeReconcilerActor, "message_handlers", {**handlers, PrepareVolumes: formatting})
    assert is_found_out("spec.volumes[].downwardAPI.items[*]")
