"""What `deploy/rbac.yaml` grants to agents, and an API server that grants nothing else.

`GrantedApi` records the requests, and refuses what the file does not grant. `refused` keeps the refusals of all of
them, and the fixture of this folder fails a test for any.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from actors.kernel.promise import Promise, broken
from runtime.api.calls import ApiCall, WatchCall, WatchEvent
from runtime.api.errors import ApiError
from runtime.io.pending import Subscription
from simulation.apiserver.front.in_process import InProcessApi

FILE = Path(__file__).parents[3] / "deploy" / "rbac.yaml"


class Grant(NamedTuple):
    """A verb on a resource ("pods", "pods/status"). `namespace`: only there; empty: everywhere."""

    verb: str
    group: str
    resource: str
    namespace: str = ""


@cache
def grants(role: str = "actorlet-node") -> frozenset[Grant]:
    """What the roles of this name grant, each grant by itself."""
    return frozenset(
        Grant(verb, group, resource, each["metadata"].get("namespace", ""))
        for each in yaml.safe_load_all(FILE.read_text())
        if each["kind"] in ("ClusterRole", "Role") and each["metadata"]["name"] == role
        for rule in each["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    )


def asked_by(call: ApiCall[Any] | WatchCall[Any]) -> Grant:
    """What a request needs."""
    verb, resource = call.what.split(" ")
    parts = call.path.split("/")
    return Grant(verb, parts[2] if parts[1] == "apis" else "", resource, call.namespace)


def grant_for(asked: Grant, role: str = "actorlet-node") -> Grant | None:
    """The grant that allows it; None when none does."""
    fitting = (asked, Grant(asked.verb, asked.group, asked.resource))
    return next((each for each in fitting if each in grants(role)), None)


class GrantedApi(InProcessApi):
    used: set[Grant] = set()
    refused: list[Grant] = []

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Promise[Any]:
        """See `Api.call`."""
        return super().call(call, timeout_ns=timeout_ns) if self._granted(call) else _refusal(call)

    def watch(
        self,
        call: WatchCall[Any],
        on_event: Callable[[WatchEvent[Any]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """See `Api.watch`. A refused one goes on: the fixture tells."""
        self._granted(call)
        return super().watch(call, on_event, on_end)

    def _granted(self, call: ApiCall[Any] | WatchCall[Any]) -> bool:
        asked = asked_by(call)
        grant = grant_for(asked)
        if grant is None:
            self.refused.append(asked)
            return False
        self.used.add(grant)
        return True


def _refusal(call: ApiCall[Any]) -> Promise[Any]:
    return broken(ApiError(403, "Forbidden", "deploy/rbac.yaml does not grant it", call.verb))
