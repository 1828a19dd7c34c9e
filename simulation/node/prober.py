"""`SimulatedProber`: `runtime.probes.Prober` for simulated containers.

The annotations of a container decide its answers (`readiness-probe` and its siblings,
`docs/reference/simulated-runtime.md`). Without them, a network probe succeeds if the container runs, and the simulated
runtime runs commands. A probe takes no time except `probe-delay`. The dispatcher is the agent's, so probes of a killed
agent get no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from actors.kernel import Dispatcher, Promise
from runtime.cri import Cri
from runtime.cri.messages import ContainerState
from runtime.io.pending import PendingAnswer
from runtime.probes import Check, ExecCheck, ProbeAnswer, ProbeOutcome
from runtime.probes.exec_command import ask_exec
from runtime.probes.held_up import unless_held_up
from simulation.cri import SimulatedCri
from simulation.cri.behaviour import at
from simulation.cri.behaviour_values import ProbeOperation
from simulation.cri.state import ContainerRecord

_ANSWERS = {
    ProbeOperation.OK: ProbeAnswer(ProbeOutcome.SUCCESS),
    ProbeOperation.FAIL: ProbeAnswer(ProbeOutcome.FAILURE, "the simulated container says no"),
    ProbeOperation.WARN: ProbeAnswer(ProbeOutcome.WARNING, "the simulated container answers oddly"),
    ProbeOperation.ERROR: ProbeAnswer(ProbeOutcome.UNKNOWN, "the simulated container cannot be asked"),
}
_WELL = _ANSWERS[ProbeOperation.OK]
_SAID_BY = {"startup": "startup_probe", "readiness": "readiness_probe", "liveness": "liveness_probe"}
"""Kind of probe -> what of a container's behaviour says how it answers."""
_TIMED_OUT = ProbeAnswer(ProbeOutcome.FAILURE, "no answer within the probe's timeout")
_NOBODY = ProbeAnswer(ProbeOutcome.FAILURE, "connect: connection refused")


class SimulatedProber:
    """See the module.

    `cri` is the runtime as the agent reaches it, and `world` the one that knows the containers. `asked` gets each
    probed container and the kind of the probe.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        cri: Cri,
        world: SimulatedCri,
        asked: Sequence[Callable[[ContainerRecord, str], object]] = (),
    ) -> None:
        self._dispatcher = dispatcher
        self._cri = cri
        self._containers = world.state.containers
        self._asked = asked

    def probe(
        self, container_id: str, kind: str, check: Check, timeout_ns: int
    ) -> PendingAnswer[ProbeAnswer] | ProbeAnswer:
        record = self._containers.get(container_id)
        if record is None:
            return self._exec(container_id, check, timeout_ns) if isinstance(check, ExecCheck) else _NOBODY
        for told in self._asked:
            told(record, kind)
        behaviour = record.behaviour
        count = record.probes[kind] = record.probes.get(kind, 0) + 1
        operations: tuple[ProbeOperation, ...] = getattr(behaviour, _SAID_BY[kind])
        operation = at(operations, count - 1) if operations else None
        if operation is None and isinstance(check, ExecCheck):
            return self._exec(container_id, check, timeout_ns)
        if record.state is not ContainerState.CONTAINER_RUNNING:
            return _NOBODY
        delay_ns = behaviour.probe_delay
        if operation is None and not delay_ns:
            return _WELL
        if operation is ProbeOperation.SILENT:
            return Promise()
        if operation is ProbeOperation.HANG or delay_ns > timeout_ns:
            return self._in(timeout_ns, _TIMED_OUT, timeout_ns)
        answer = _ANSWERS[operation or ProbeOperation.OK]
        return self._in(delay_ns, answer, timeout_ns) if delay_ns else answer

    def _exec(self, container_id: str, check: ExecCheck, timeout_ns: int) -> PendingAnswer[ProbeAnswer]:
        return ask_exec(self._cri, container_id, check, timeout_ns, self._dispatcher.now_ns)

    def _in(self, ns: int, answer: ProbeAnswer, timeout_ns: int) -> PendingAnswer[ProbeAnswer]:
        promise: Promise[ProbeAnswer] = Promise()
        by_ns = self._dispatcher.now_ns() + timeout_ns

        def give() -> None:
            # An agent that got no CPU finds its deadline passed before it finds the answer.
            late_ns = self._dispatcher.now_ns() - by_ns
            promise.set_result(answer if late_ns <= 0 else unless_held_up(_TIMED_OUT, late_ns, timeout_ns))

        self._dispatcher.schedule(ns, give)
        return promise
