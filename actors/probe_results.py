"""What probes say of the containers of a pod, as input of decisions (spec 5).

Results are kept by container id: those of a container that is gone say nothing of its successor. An absent result
means that the probe has not decided yet. `active` is False where no prober works at all; containers then count as
started and ready as soon as they run, as if they had no probes.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.observed import ObservedContainer
from config.frozen_map import FrozenMap
from config.objects import Container


class ProbeResults(msgspec.Struct, frozen=True):
    """See the module: container id -> success."""

    active: bool = False
    startup: FrozenMap[str, bool] = FrozenMap()
    liveness: FrozenMap[str, bool] = FrozenMap()
    readiness: FrozenMap[str, bool] = FrozenMap()


NO_RESULTS = ProbeResults()


def say_the_same(results: ProbeResults, others: ProbeResults) -> bool:
    """Whether nothing is decided or shown otherwise after the one than after the other: that a container is not ready
    yet, and that it lives, is so where nobody has said it, too.
    """
    return results == others or (
        results.active == others.active
        and results.startup == others.startup
        and _those(results.readiness, True) == _those(others.readiness, True)
        and _those(results.liveness, False) == _those(others.liveness, False)
    )


def _those(verdicts: Mapping[str, bool], verdict: bool) -> set[str]:
    return {each for each, said in verdicts.items() if said is verdict}


def startup_of(container: Container, observed: ObservedContainer, results: ProbeResults) -> bool | None:
    """True: started. False: the startup probe has failed for good. None: not decided. Only for what runs."""
    if container.startup_probe is None or not results.active:
        return True
    return results.startup.get(observed.id)


def liveness_failed(container: Container, observed: ObservedContainer, results: ProbeResults) -> bool:
    """Whether the liveness probe has failed for good."""
    return container.liveness_probe is not None and results.liveness.get(observed.id) is False


def is_started(container: Container, observed: ObservedContainer, results: ProbeResults) -> bool:
    """Whether it runs, its postStart hook has ended, and its startup probe, if it has one, has succeeded."""
    if not observed.running or observed.starting:
        return False
    return container.startup_probe is None or startup_of(container, observed, results) is True


def is_ready(container: Container, observed: ObservedContainer, results: ProbeResults) -> bool:
    """Whether it is started and its readiness probe, if it has one, succeeds. Not for regular init containers."""
    if not is_started(container, observed, results):
        return False
    if container.readiness_probe is None or not results.active:
        return True
    return results.readiness.get(observed.id, False)
