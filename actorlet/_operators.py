"""What a cluster does with an operator under test: run it, let it come to rest, sweep it for bugs."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actorlet._sweep import Oracle, Sweep
    from actorlet.testing import Cluster


class Operators:
    """The part of `actorlet.testing.Cluster` about operators."""

    @abstractmethod
    def _ask(self, order: Mapping[str, Any], within_s: float = ...) -> dict[str, Any]: ...

    def run(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None = None,
        user: str = "operator",
        groups: Sequence[str] = (),
        directory: str | os.PathLike[str] = "",
    ) -> str:
        """Start a program beside the cluster, as `run(["python3", "operator.py"])`; returns its kubeconfig.

        It finds the kubeconfig in `KUBECONFIG`, and acts as `user`, as in `kubeconfig_of`. `env` comes on top of the
        environment of this process. Like the pod of a Deployment it starts again whenever it ends: at once, then after
        10, 20, 40 ... 300 s of the cluster's time. It ends with the cluster, or a `reset`. The report of a failing test
        has its last lines.

        Raises ClusterError when it does not start.
        """
        words = [os.fspath(word) for word in command]
        where = os.path.abspath(os.fspath(directory) or ".")
        environment = {**os.environ, **(env or {})}
        order = {"order": "run", "command": words, "environment": environment, "directory": where}
        return str(self._ask({**order, "user": user, "groups": list(groups)})["kubeconfig"])

    def settle(self, *, quiet: str = "15s", still: str = "300ms", within: str = "20m") -> float:
        """Let time pass until the operators are at rest, and return `now`. The time must be `auto`.

        That is when no object has changed for the time `quiet`, and no operator has asked anything or used its CPU for
        `still`, which is real time. Choose it longer than your operator sleeps between two tries.

        Raises TimeoutError when it never comes to rest `within` that time, or half a minute of real time.
        """
        answer = self._ask({"order": "settle", "quiet": quiet, "still": still, "within": within})
        if not answer["settled"]:
            raise TimeoutError(f"the operators have not come to rest within {within} of the cluster's time")
        return float(answer["seconds"])

    def outputs(self) -> Mapping[str, Sequence[str]]:
        """User of each operator -> the last lines of its output."""
        return dict(self._ask({"order": "outputs"})["outputs"])

    def sweep(
        self,
        scenario: Callable[[Cluster], object],
        *,
        oracle: Oracle | None = None,
        kinds: Sequence[str] = (),
        known: str | os.PathLike[str] = "",
        runs: int = 300,
        again: int = 2,
        jobs: int = 0,
        still: str = "300ms",
    ) -> Sweep:
        """Find an operator's bugs: play `scenario` once for each promising fault, and compare how it ends.

        `scenario` gets a cluster with the options of this one and the time `auto`. It prepares it, starts the operator
        by `run`, and does what a user does, with `settle` after each step. Several run at a time, each in a thread
        with a cluster of its own. So use `c.kubernetes()` and the like, and no configuration of the whole process.

        Args:
            oracle: called with the cluster at the end; what it returns is compared instead of the objects. An
                AssertionError in it is a finding, too.
            kinds: of faults, as `actorlet sweep --list` tells them; all without a word.
            known: a file of known findings, one name a line.
            runs: with faults, at most.
            again: how often each finding is played again.
            jobs: runs at a time; 0: four for each core.
            still: see `settle`; for the rest at the end of each run.

        With a fault in the environment variable `ACTORLET_SWEEP` only that one is played: findings say it.

        Raises ClusterError when the scenario does not work without a fault.
        """
        from actorlet._sweep import swept  # with threads and queues, which only a sweep needs

        return swept(
            self,  # type: ignore[arg-type]  # its only subclass is Cluster
            scenario,
            oracle=oracle,
            kinds=kinds,
            known=os.fspath(known),
            runs=runs,
            again=again,
            jobs=jobs,
            still=still,
        )
