"""`PodServices` for tests of a part of one worker.

A service that is not given is an actor that ignores its messages.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from actors.kernel import Actor, ActorSystem, SimulatedDispatcher, handles
from actors.messages.admission import AdmitPod, PodAdmitted
from actors.pod.services import NodeFacts, PodServices
from actors.start.cri_configs import ContainerNodeRules
from config.kubelet import KubeletConfiguration, crash_loop_periods
from config.kubelet.feature_gates import FeatureGates
from simulation.cri import SimulatedCri
from simulation.host.host import SimulatedHost
from tests.actors.recorders import Recorder


class TakesAll(Actor):
    """In place of the `ResourceManagerActor`: a node that takes every pod."""

    @handles(AdmitPod)
    def admit(self, message: AdmitPod) -> None:
        message.worker.tell(PodAdmitted())


def services_for(dispatcher: SimulatedDispatcher, system: ActorSystem, **given: Any) -> PodServices:
    """`given` are fields of `PodServices`."""
    nobody, _ = Recorder.spawn_in(system, "nobody")
    configuration = KubeletConfiguration()
    fields: dict[str, Any] = {
        "cri": SimulatedCri(dispatcher),
        "files": SimulatedHost().pod_files,
        "node": NodeFacts("node", "/root", ("192.0.2.1",), "simulated", 2, 2**30, ContainerNodeRules("/root")),
        "configuration": configuration,
        "resources": system.spawn(TakesAll, name="resources"),
        "crash_loop": crash_loop_periods(configuration, FeatureGates({})),
        **given,
    }
    for field in dataclasses.fields(PodServices):
        if field.default is dataclasses.MISSING:
            fields.setdefault(field.name, nobody)
    return PodServices(**fields)
