"""The roles and bindings of a new cluster; `defaults.yaml` has them in a short form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from simulation.rbac.roles import GROUP

Json = dict[str, Any]
_LABEL = "rbac.authorization.k8s.io/aggregate-to-"
_MADE_BY = {"kubernetes.io/bootstrapping": "rbac-defaults"}


def default_objects() -> Iterator[Json]:
    """Each role, followed by its binding if it has one. An aggregated ClusterRole begins without rules."""
    entries: list[Json] = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes())
    for entry in entries:
        name, place = entry["name"], {"namespace": entry["namespace"]} if "namespace" in entry else {}
        kind = "Role" if place else "ClusterRole"
        role = {"kind": kind, "metadata": _metadata(name, place), "rules": entry.get("rules", [])}
        if "part_of" in entry:
            role["metadata"]["labels"][_LABEL + entry["part_of"]] = "true"
        if "aggregates" in entry:
            labels = {_LABEL + entry["aggregates"]: "true"}
            role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": labels}]}
        yield role
        if "bound_to" in entry:
            subjects = [dict(zip(("kind", "name"), one.split(), strict=True)) for one in entry["bound_to"]]
            bound = f"system::{name}" if place and not name.startswith("system::") else name
            yield {
                "kind": f"{kind}Binding",
                "metadata": _metadata(bound, place),
                "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name},
                "subjects": [{"apiGroup": GROUP, **subject} for subject in subjects],
            }


def _metadata(name: str, place: Json) -> Json:
    return {"name": name, **place, "labels": dict(_MADE_BY)}
