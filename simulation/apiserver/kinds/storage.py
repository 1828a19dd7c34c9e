"""Persistent volumes, their claims, and certificate requests: what they are like when they are new."""

from __future__ import annotations

from config.objects import ApiStruct, CertificateSigningRequest, PersistentVolume, PersistentVolumeClaim
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import Call
from simulation.apiserver.status import Json


class VolumeRules(KindRules):
    """See the module."""

    struct: type[ApiStruct] | None = PersistentVolume
    has_status = True
    answers_with_object = True

    def prepare(self, call: Call, value: Json) -> None:
        spec = value.get("spec") or {}
        value["spec"] = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem", **spec}
        value["status"] = {"phase": "Pending"}


class ClaimRules(KindRules):
    """See the module."""

    struct: type[ApiStruct] | None = PersistentVolumeClaim
    has_status = True
    answers_with_object = True

    def prepare(self, call: Call, value: Json) -> None:
        value["spec"] = {"volumeMode": "Filesystem", **(value.get("spec") or {})}
        value["status"] = {"phase": "Pending"}


class CertificateRequestRules(KindRules):
    """The server notes who asks. Approval and certificate come by the parts `approval` and `status`."""

    struct: type[ApiStruct] | None = CertificateSigningRequest
    has_status = True

    def prepare(self, call: Call, value: Json) -> None:
        user = call.user
        spec = {**(value.get("spec") or {}), "username": user.name, "groups": list(user.groups)}
        if user.uid:
            spec["uid"] = user.uid
        value["spec"] = spec
        value["status"] = {}

    def change(self, call: Call, old: Json, new: Json) -> None:
        new["spec"] = old["spec"]

    def change_status(self, call: Call, old: Json, new: Json) -> None:
        before, after = old.get("status") or {}, new.get("status") or {}
        if call.target.subresource == "approval":
            status = {**before, "conditions": after.get("conditions") or []}
        else:
            status = {**after, "conditions": after.get("conditions") or before.get("conditions") or []}
        new["spec"] = old["spec"]
        new["status"] = {field: part for field, part in status.items() if part not in (None, [])}
