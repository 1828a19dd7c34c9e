"""ResourceQuota: a request that needs more of a quota than is left is refused (403).

Any other is charged. `controllers.quota_usage`, or a controller manager, says what a quota limits, and gives back what
is no longer used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulation.apiserver.admission.attributes import CREATE, UPDATE, Attributes, Concern, Plugin
from simulation.apiserver.core import SECOND_NS
from simulation.apiserver.kinds.table import CLAIMS, DEVICE_CLAIMS, PODS, QUOTAS, SERVICES
from simulation.quotas.counts import Change, count_of
from simulation.quotas.quota import QuotaError, charged
from simulation.quotas.resource_lists import Amounts, texts_of

_MAY_GROW = (PODS, SERVICES, CLAIMS, DEVICE_CLAIMS)
"""Kinds of which a changed object may use more."""


def validate(this: Attributes) -> None:
    """Raises StatusError (403)."""
    call, core = this.call, this.core
    known = core.store.of[QUOTAS.store_key]
    quotas = [one.object for one in known.in_namespace(call.namespace)] if len(known) else []
    count = count_of(call.resource.group_resource) if quotas else None
    if count is None or this.new is None:
        return
    change = Change(this.operation, call.target.subresource, this.old, this.new)
    try:
        found = charged(quotas, count, change, core.wall_ns() / SECOND_NS)
    except QuotaError as refusal:
        raise this.forbidden(str(refusal)) from None
    taken = this.old is None and core.store.get(call.resource.store_key, call.namespace, this.name) is not None
    if not (call.dry_run or taken):  # Of a taken name nothing will be created.
        for quota, used in found:
            _charge(this, quota, used)


def _concerns(concern: Concern) -> bool:
    resource, part, operation = concern
    grows = operation == UPDATE and resource in _MAY_GROW and part in ("", "resize", "status")
    return resource.namespaced and (grows or (operation == CREATE and not part))


PLUGIN = Plugin("ResourceQuota", _concerns, validate=validate)


def _charge(this: Attributes, quota: Mapping[str, Any], used: Amounts) -> None:
    status = {**quota["status"], "used": {**quota["status"]["used"], **texts_of(used)}}
    if status != quota["status"]:
        value = {**quota, "metadata": dict(quota["metadata"]), "status": status}
        this.core.store.put(QUOTAS.store_key, value)
