"""A simulated container runtime: the whole CRI in process, in virtual or real time.

`SimulatedCri` is the capability. The annotations of a pod decide its behaviour (`behaviour`). Faults of the runtime as
a whole come from `simulation.chance.call_faults`. `verbs` has the verbs, by subject.
"""

from __future__ import annotations

from simulation.cri.behaviour import BehaviourError, PodBehaviour, parse_behaviour
from simulation.cri.runtime import Settings
from simulation.cri.simulated_cri import SimulatedCri

__all__ = ["BehaviourError", "PodBehaviour", "Settings", "SimulatedCri", "parse_behaviour"]
