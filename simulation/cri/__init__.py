"""A container runtime that is not there: the whole CRI in process, in virtual or real time.

`SimulatedCri` is the capability. What each pod does on it is said by the pod's own annotations (`behaviour`), what
befalls the runtime as a whole by `simulation.chance.call_faults`. `verbs` has the verbs,
by subject.
"""

from __future__ import annotations

from simulation.cri.behaviour import BehaviourError, PodBehaviour, parse_behaviour
from simulation.cri.runtime import Settings
from simulation.cri.simulated_cri import SimulatedCri

__all__ = ["BehaviourError", "PodBehaviour", "Settings", "SimulatedCri", "parse_behaviour"]
