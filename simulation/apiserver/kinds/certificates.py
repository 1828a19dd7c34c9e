"""Certificate requests: the server records the requester.

Approval and certificate come through subresources.
"""

from __future__ import annotations

from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.status import Json


class CertificateRequestRules(KindRules):
    def prepare(self, call: ResourceCall, value: Json) -> None:
        super().prepare(call, value)
        asks = {"username": call.user.name, "groups": list(call.user.groups), "uid": call.user.uid}
        value["spec"] = {**(value.get("spec") or {}), **{field: part for field, part in asks.items() if part != ""}}

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        new["spec"] = old["spec"]

    def change_status(self, call: ResourceCall, old: Json, new: Json) -> None:
        before, after = old.get("status") or {}, new.get("status") or {}
        if call.target.subresource == "approval":
            status = {**before, "conditions": after.get("conditions")}
        else:
            status = {**after, "conditions": after.get("conditions") or before.get("conditions")}
        new["spec"] = old["spec"]
        new["status"] = {field: part for field, part in status.items() if part not in (None, [])}
