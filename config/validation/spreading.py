"""The checks of `topologySpreadConstraints`, as upstream's `ValidatePodSpec` makes them."""

from __future__ import annotations

from collections.abc import Iterable

from config.documents.places import DocumentPlace
from config.objects.scheduling import TopologySpreadConstraint
from config.values.name_rules import check, qualified_name

DO_NOT_SCHEDULE = "DoNotSchedule"


def check_spreading(at: DocumentPlace, constraints: Iterable[TopologySpreadConstraint]) -> None:
    """Each constraint alone; and no two with the same key that do the same where it cannot be kept."""
    seen: set[tuple[str, str]] = set()
    for place, each in at.items("topologySpreadConstraints", constraints):
        (place / "maxSkew").at_least(each.max_skew, 1)
        if (place / "topologyKey").required(each.topology_key):
            check(place / "topologyKey", qualified_name(each.topology_key))
        (place / "whenUnsatisfiable").one_of(each.when_unsatisfiable, (DO_NOT_SCHEDULE, "ScheduleAnyway"))
        if (each.topology_key, each.when_unsatisfiable) in seen:
            what = f"{each.topology_key!r} is given twice with whenUnsatisfiable: {each.when_unsatisfiable}"
            (place / "topologyKey").fault(what, "keep one of them")
        seen.add((each.topology_key, each.when_unsatisfiable))
        (place / "minDomains").at_least(each.min_domains, 1)
        if each.min_domains is not None and each.when_unsatisfiable != DO_NOT_SCHEDULE:
            (place / "minDomains").fault(f"needs whenUnsatisfiable: {DO_NOT_SCHEDULE}", "remove one of them")
        for field, policy in (
            ("nodeAffinityPolicy", each.node_affinity_policy),
            ("nodeTaintsPolicy", each.node_taints_policy),
        ):
            if policy is not None:
                (place / field).one_of(policy, ("Honor", "Ignore"))
