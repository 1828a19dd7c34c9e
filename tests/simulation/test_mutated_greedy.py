"""Agents in which the work of one pod takes the turns of others do not get through greedy-pods."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import actors.kernel.lanes
import actors.volumes.calls
from actors.kernel import Message
from actors.kernel.turns import Turns
from actors.messages.volumes import PrepareVolumes
from actors.start.pod_fields import map_lines
from actors.volumes.calls import VolumeCalls
from actors.volumes.reconciler import VolumeReconcilerActor
from simulation.play.greedy_pods import without_greedy
from simulation.play.play import Play, PlayOutcome
from simulation.scenarios.scenario import library_scenario
from tests.simulation.sizes import with_greedy
from tests.simulation.test_greedy_pods import SEED, played, to_the_end

Mutate = pytest.MonkeyPatch
RULE = "no-pod-takes-anothers-turn"
FORMATTED_SIZE, MOUNTED_SIZE = "512Ki", "192Ki"


def is_found_out(outcome: PlayOutcome) -> bool:
    return RULE in {violation["invariant"] for violation in outcome.violations}


def played_together() -> PlayOutcome:
    """A greedy pod with many NFS volumes; all other pods come in the three seconds after it."""
    scenario = with_greedy(library_scenario("greedy-pods"), field="spec.volumes[*].nfs", size=MOUNTED_SIZE)
    pods = (replace(mix, arrives=("10s", "10s" if mix.greedy else "13s")) for mix in scenario.pods)
    scenario = replace(scenario, pods=tuple(pods))
    usual = Play(without_greedy(scenario), SEED)
    to_the_end(usual)
    play = Play(scenario, SEED, usual=usual.world.chronicle.timings)
    to_the_end(play)
    return play.outcome()


def test_an_agent_whose_lanes_are_queues_without_turns_is_found_out(monkeypatch: Mutate):
    class OneQueue(Turns[Any]):
        """All calls have one key, which may have every slot."""

        def __init__(self, size: int, per_key: int, max_slow: int) -> None:
            super().__init__(size, size, max_slow)

        def join(self, call: Any) -> None:
            call.key = "everyone"
            super().join(call)

    assert not is_found_out(played_together())
    monkeypatch.setattr(actors.kernel.lanes, "Turns", OneQueue)
    # The window of a pod and its pace are other defences.
    monkeypatch.setattr(VolumeCalls, "has_room", lambda *_: True)
    monkeypatch.setattr(actors.volumes.calls, "AT_ONCE", 100_000)
    assert is_found_out(played_together())


def test_an_agent_whose_shared_actor_formats_the_files_of_pods_is_found_out(monkeypatch: Mutate):
    handlers: dict[type[Message], Any] = dict(VolumeReconcilerActor.message_handlers)
    prepare = handlers[PrepareVolumes]

    def formatting(actor: Any, message: PrepareVolumes) -> Any:
        """Make each file of the pod, as the reconciler did before each pod had an actor for it."""
        for volume in message.pod.spec.volumes:
            for _ in volume.downward_api.items if volume.downward_api is not None else ():
                map_lines(message.pod.metadata.annotations)
        return prepare(actor, message)

    handlers[PrepareVolumes] = formatting
    monkeypatch.setattr(VolumeReconcilerActor, "message_handlers", handlers)
    assert is_found_out(played("spec.volumes[].downwardAPI.items[*]", FORMATTED_SIZE))
