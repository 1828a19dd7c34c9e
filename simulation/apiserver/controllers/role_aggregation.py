"""Gives aggregated cluster roles their rules: those of other roles, at each change of these."""

from __future__ import annotations

from simulation.apiserver.core import Core
from simulation.apiserver.pipeline.context import Follower
from simulation.apiserver.store.store import Version
from simulation.rbac.roles import GROUP, aggregated


class RoleAggregation(Follower):
    def __init__(self, core: Core) -> None:
        self._store = core.store

    def created(self, version: Version) -> None:
        self._put_together()

    def changed(self, old: Version, new: Version) -> None:
        self._put_together()

    def removed(self, last: Version) -> None:
        self._put_together()

    def _put_together(self) -> None:
        """Each round may change what the next one reads."""
        roles = self._store.of[f"clusterroles.{GROUP}"]
        for _ in range(len(roles)):
            objects = [version.object for version in roles.all()]
            stale = [
                {**role, "metadata": dict(role["metadata"]), "rules": rules}
                for role in objects
                if (rules := aggregated(role, objects)) is not None and rules != (role.get("rules") or [])
            ]
            for role in stale:
                roles.put(("", role["metadata"]["name"]), role)
            if not stale:
                return
