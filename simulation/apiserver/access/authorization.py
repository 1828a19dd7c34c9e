"""Who may do what.

`AlwaysAllow`: everybody everything. `Node`: admins all, the agent of a node what its node needs. `RBAC`: the same,
and everybody what roles grant (see `simulation.rbac`).

An agent may do what `node_grants` says. `decide` judges the request alone; `admission.node_restriction` judges what an
agent writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from simulation.apiserver.access.attributes import AccessAttributes
from simulation.apiserver.access.node_grants import may
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import NAMESPACES, ServedResource
from simulation.apiserver.requests.calls import ApiUser, ResourceCall
from simulation.apiserver.status import Json, StatusError, forbidden
from simulation.apiserver.store.store import Store
from simulation.rbac.roles import GROUP, Granted, granted
from simulation.rbac.rules import Access, allows

MASTERS = "system:masters"


class StoredPolicies:
    """The roles and bindings of a store; see `simulation.rbac.roles.Policies`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def bindings(self, namespace: str) -> Iterable[Json]:
        kind = "rolebindings" if namespace else "clusterrolebindings"
        return [one.object for one in self._store.of[f"{kind}.{GROUP}"].all() if one.namespace == namespace]

    def role(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self._store.get(f"{kind.lower()}s.{GROUP}", namespace, name)
        return None if found is None else found.object


class Authorizer:
    def __init__(self, core: Core) -> None:
        self._store = core.store
        self.lets_all = core.options.authorization == "AlwaysAllow"
        """Nothing is refused to anybody."""
        self.has_roles = core.options.authorization == "RBAC"
        self.policies = StoredPolicies(core.store)

    def may_everything(self, user: ApiUser) -> bool:
        """Whether nothing is refused to this user."""
        return self.lets_all or MASTERS in user.groups

    def check(self, call: ResourceCall) -> None:
        """Raises StatusError (403)."""
        if self.may_everything(call.user):
            return
        asked = attributes_of(call)
        self.check_access(call.user, asked)
        if self.has_roles and asked.verb == "get" and asked.subresource in _STREAMS:
            self.check_access(call.user, msgspec.structs.replace(asked, verb="create"))

    def check_access(self, user: ApiUser, asked: AccessAttributes) -> None:
        """Check that the user may do it. Raises StatusError (403)."""
        allowed, reason = self.decide(user, asked)
        if not allowed:
            raise _forbidden(user, asked, reason)

    def check_path(self, user: ApiUser, method: str, path: str) -> None:
        """Check a request to a path that is no resource. Raises StatusError (403)."""
        if self.has_roles and not self.decide_path(user, method.lower(), path)[0]:
            why = f'User "{user.name}" cannot {method.lower()} path "{path}"'
            raise StatusError(403, "Forbidden", f"forbidden: {why}", {})

    def check_impersonation(self, user: ApiUser, other: ApiUser) -> None:
        """Check that the user may act for the other one. Raises StatusError (403)."""
        account = other.name.split(":")[2:] if other.name.startswith("system:serviceaccount:") else []
        named = [("", "groups", "", group) for group in other.groups]
        named += [(_IDENTITY, f"userextras/{key}", "", value) for key in other.extra for value in other.extra[key]]
        named += [(_IDENTITY, "uids", "", other.uid)] if other.uid else []
        who = ("", "serviceaccounts", *account) if len(account) == 2 else ("", "users", "", other.name)
        for group, what, namespace, name in (who, *named):
            resource, _, part = what.partition("/")
            self.check_access(user, AccessAttributes("impersonate", group, resource, part, namespace, name))

    def decide(self, user: ApiUser, asked: AccessAttributes) -> tuple[bool, str]:
        """Whether the access is allowed, and why; "" for no particular reason."""
        if self.may_everything(user):
            return True, ""
        if not self.has_roles and asked.resource in _REVIEWS and asked.verb == "create":
            return True, ""
        reason = ""
        if user.node:
            allowed, reason = may(self._store, user.node, asked)
            if allowed:
                return True, ""
        return self._by_roles(user, asked.namespace, asked.access, reason)

    def decide_path(self, user: ApiUser, verb: str, path: str) -> tuple[bool, str]:
        """Whether the verb is allowed on a path that is no resource, and why."""
        return (True, "") if self.may_everything(user) else self._by_roles(user, "", Access(verb, path=path))

    def granted(self, user: ApiUser, namespace: str) -> Iterator[Granted]:
        """The rules that roles grant the user in the whole cluster and in that namespace; none without RBAC."""
        return granted(user, namespace, self.policies) if self.has_roles else iter(())

    def _by_roles(self, user: ApiUser, namespace: str, asked: Access, reason: str = "") -> tuple[bool, str]:
        lacking = []
        for one in self.granted(user, namespace):
            if one.lacks:
                lacking.append(one.lacks)
            elif allows(one.rule, asked):
                return True, one.by
        if lacking:
            missing = lacking[0] if len(lacking) == 1 else f"[{', '.join(lacking)}]"
            reason = "\n".join(filter(None, (reason, f"RBAC: {missing}")))
        return False, reason


_STREAMS = frozenset({"attach", "exec", "portforward"})
"""Parts that a WebSocket requests by GET; they need the right to `create`, not only to `get`."""
_IDENTITY = "authentication.k8s.io"
_REVIEWS = frozenset({"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"})


# --- requests and objects ---------------------------------------------------------------------------------------------


def attributes_of(call: ResourceCall) -> AccessAttributes:
    """The attributes of a request."""
    target = call.target
    selection = call.selection() if call.verb in ("list", "watch", "deletecollection") else None
    return AccessAttributes(
        verb=call.verb,
        group=target.resource.group,
        resource=target.resource.plural,
        subresource=target.subresource,
        # As in Kubernetes, the namespace of a Namespace object is its own name.
        namespace=target.name if target.resource is NAMESPACES else target.namespace,
        name=target.name,
        field_node=(selection.asked_node or "") if selection is not None else "",
        field_name=(selection.name or "") if selection is not None else "",
    )


def _forbidden(user: ApiUser, asked: AccessAttributes, reason: str) -> StatusError:
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    why = f'User "{user.name}" cannot {asked.verb} resource "{asked.what}" in API group "{asked.group}" {where}'
    resource = ServedResource(asked.group, "", asked.resource, "", "", bool(asked.namespace))
    return forbidden(resource, asked.name, f"{why}: {reason}" if reason else why)
