"""Plays runs of an operator one after the other, in one cluster, which is reset before each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from runtime.files.passing_directory import passing_directory
from runtime.io.event_loop import LoopThread
from runtime.io.programs import Limits, ProgramCutShortError, run_to_end
from simulation.cluster import orders
from simulation.cluster.embedded_cluster import EmbeddedCluster
from simulation.cluster.operator_orders import RecordRun, RunOperator, Settle, TakeRecord
from simulation.cluster.orders import Begin, OrderError
from simulation.cluster.sweep_file import Step, SweepFile, delete_objects, patch_object
from simulation.operators.faults import Fault
from simulation.operators.records import Record

PREFIX = "actorlet-sweep-"
PAUSE = "30ms"
STEP_LIMITS = Limits(seconds=120.0, output_bytes=2**20, complaint_bytes=2000)


class Player:
    """`player` makes one."""

    def __init__(self, file: SweepFile, loop: LoopThread, cluster: EmbeddedCluster, kubeconfig: str) -> None:
        self._file = file
        self._loop = loop
        self._cluster = cluster
        self._kubeconfig = kubeconfig

    def play(self, fault: Fault | None, patience: int = 1) -> Record:
        """Play the scenario once. `patience`: how many times as long the operator must be still.

        Raises OrderError when the run cannot begin.
        """
        file = self._file
        self._do(orders.Reset())
        self._do(RecordRun("" if fault is None else str(fault)))
        for path in file.before:
            self._do(orders.Apply(path))
        environment = {**os.environ, **file.environment}
        self._do(RunOperator(file.command, environment, file.directory, file.user, file.groups))
        still_ns = patience * orders.ns_of(file.still)
        failure = ""
        for number, step in enumerate(file.steps):
            try:
                self._step(step)
            except OrderError as error:
                failure = f"step {number + 1}, {step.about}: {error}"
                break
            is_last = number == len(file.steps) - 1
            self._do(Settle(file.quiet, f"{still_ns}ns", file.within, lasting=is_last))
        taken: Record = self._do(TakeRecord(failure))["record"]
        return taken

    def _step(self, step: Step) -> None:
        """Raises OrderError."""
        if step.apply:
            self._do(orders.Apply(step.apply))
        elif step.delete:
            self._loop.submit(self._cluster.change(lambda server: delete_objects(server, step.delete))).result()
        elif step.patch is not None:
            patch = step.patch
            self._loop.submit(self._cluster.change(lambda server: patch_object(server, patch))).result()
        else:
            self._loop.submit(self._run(step.run)).result()

    async def _run(self, words: tuple[str, ...]) -> None:
        try:
            ended = await run_to_end(words, {**os.environ, "KUBECONFIG": self._kubeconfig}, STEP_LIMITS)
        except (OSError, ProgramCutShortError) as error:
            raise OrderError(str(error)) from None
        if ended.status:
            said = ended.complaints.decode(errors="replace").strip()
            raise OrderError(f"it ended with status {ended.status}: {said}")

    def _do(self, order: Any) -> dict[str, Any]:
        return self._loop.submit(self._cluster.obey(order)).result()


def begin_of(nodes: int, *, rbac: bool = False, controller_manager: str = "") -> Begin:
    """The cluster of a sweep."""
    return Begin(
        nodes=nodes,
        time="auto",
        start="",
        seed=1,
        scheduler=True,
        cpus=4,
        memory="16Gi",
        pods_per_node=110,
        rbac=rbac,
        controller_manager=controller_manager,
        pause=PAUSE,
    )


@contextmanager
def player(file: SweepFile) -> Iterator[Player]:
    """A cluster for the file, in this process. Raises OrderError."""
    begin = begin_of(file.nodes, rbac=file.rbac, controller_manager=file.controller_manager)
    with ExitStack() as after:
        directory = after.enter_context(passing_directory(PREFIX))
        loop = after.enter_context(closing(LoopThread("cluster")))
        kubeconfig = os.path.join(directory, "kubeconfig")
        cluster = EmbeddedCluster(begin, loop, kubeconfig, directory)
        after.callback(lambda: loop.submit(cluster.end()).result())
        loop.submit(cluster.begin()).result()
        yield Player(file, loop, cluster, kubeconfig)
