"""NamespaceLifecycle: nothing is created in a namespace that is missing or ends.

Some namespaces stay for ever.
"""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, DELETE, Attributes, Plugin
from simulation.apiserver.kinds.table import NAMESPACES
from simulation.apiserver.status import forbidden, not_found

PROTECTED = ("default", "kube-public", "kube-system")


def admit(this: Attributes) -> None:
    """Raises StatusError (403, 404)."""
    call = this.call
    if this.operation == DELETE:
        if call.resource is NAMESPACES and this.name in PROTECTED:
            raise forbidden(NAMESPACES, this.name, "this namespace may not be deleted")
        return
    if this.operation != CREATE or not call.resource.namespaced:
        return
    home = this.core.store.get(NAMESPACES.store_key, "", call.namespace)
    if home is None:
        raise not_found(NAMESPACES, call.namespace)
    if "deletionTimestamp" in home.object["metadata"]:
        why = f"namespace {call.namespace} is being terminated"
        cause = {"reason": "NamespaceTerminating", "message": why, "field": "metadata.namespace"}
        text = f"unable to create new content in namespace {call.namespace} because it is being terminated"
        raise this.forbidden(text, [cause])


PLUGIN = Plugin("NamespaceLifecycle", admit=admit)
