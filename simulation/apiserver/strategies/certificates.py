"""Certificate requests: the server records the requester.

Approval and certificate come through subresources.
"""

from __future__ import annotations

from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.strategy import Strategy

_OF_SERVER = ("username", "groups", "uid", "extra")


class CertificateRequestStrategy(Strategy):
    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().prepare(call, before, value)
        if before is None:
            asks = {"username": call.user.name, "groups": list(call.user.groups), "uid": call.user.uid}
            told = {field: part for field, part in asks.items() if part != ""}
            sent = {name: part for name, part in (value.get("spec") or {}).items() if name not in _OF_SERVER}
            value["spec"] = {**sent, **told}
            return
        value["spec"] = before["spec"]
        if not call.target.subresource:
            return
        was, now = before.get("status") or {}, value.get("status") or {}
        if call.target.subresource == "approval":
            status = {**was, "conditions": now.get("conditions")}
        else:
            status = {**now, "conditions": now.get("conditions") or was.get("conditions")}
        value["status"] = {field: part for field, part in status.items() if part not in (None, [])}
