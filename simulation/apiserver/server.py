"""The API server without a network: a request goes in, an answer comes out.

`handle` never waits. A refusal is an answer, too; the answer of a watch is an object that the caller follows. It raises
only `ReviewWantedError` and `ConversionWantedError`, for a request with an `Admission`. Safe for threads: one lock
guards everything. Time, names and random numbers come from the given clock. So on a simulated dispatcher, the same
requests in the same order get the same answers.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from ipaddress import ip_network

from actors.kernel.dispatcher import Dispatcher
from simulation.apiserver.access.attributes import AccessAttributes
from simulation.apiserver.access.authentication import ACCOUNT_PREFIX, AUTHENTICATED, Authenticator
from simulation.apiserver.access.authorization import Authorizer
from simulation.apiserver.admission.storage_protection import PROTECTION
from simulation.apiserver.controllers.definitions import DefinitionController
from simulation.apiserver.controllers.event_expiry import EventExpiry
from simulation.apiserver.controllers.garbage_collector import GarbageCollector
from simulation.apiserver.controllers.namespaces import NamespaceController
from simulation.apiserver.controllers.node_monitor import NodeMonitor
from simulation.apiserver.controllers.quota_usage import QuotaUsage
from simulation.apiserver.controllers.role_aggregation import RoleAggregation
from simulation.apiserver.controllers.storage_protection import StorageProtection
from simulation.apiserver.core import Core, Options
from simulation.apiserver.kinds.catalog import Catalog
from simulation.apiserver.kinds.table import (
    DEFINITIONS,
    EVENTS,
    NAMESPACES,
    NODES,
    PRIORITY_CLASSES,
    QUOTAS,
    SERVED,
    SERVICES,
    ServedResource,
    find,
)
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.write import write_value
from simulation.apiserver.requests.answers import Answer, refused
from simulation.apiserver.requests.calls import ADMIN, ApiRequest, ApiUser, ResourceCall, Target, call_of, call_to
from simulation.apiserver.status import Json, StatusError, internal_error
from simulation.apiserver.store.store import Store
from simulation.apiserver.strategies.by_kind import strategies
from simulation.apiserver.verbs.dispatch import handler_of
from simulation.apiserver.verbs.watch import Bookmarks
from simulation.rbac.defaults import default_objects
from simulation.rbac.roles import GROUP as RBAC
from simulation.webhooks.conversions import ConversionWantedError, FailedConversionError
from simulation.webhooks.reviews import ReviewWantedError

FIRST = ("default", "kube-node-lease", "kube-public", "kube-system")
"""The namespaces of every cluster."""
FIRST_PRIORITIES = {
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}
"""The priority classes of every cluster: value and description."""
DENIED_AT_MOST = 1000
_OWN_NAME = "kube-apiserver"
"""The manager of the objects that the server makes."""
LOG = logging.getLogger("actorlet.apiserver")

_RESOURCES_OF_RBAC = {resource.kind: resource for resource in SERVED if resource.group == RBAC}


class ApiServer:
    def __init__(self, clock: Dispatcher, options: Options | None = None) -> None:
        self.options = options or Options()
        self._core = core = Core(clock, self.options)
        self.denied: deque[str] = deque(maxlen=DENIED_AT_MOST)
        """The last requests refused for lack of permission.

        A test checks here that an agent asks for nothing that it may not have.
        """
        self._catalog = Catalog()
        self._context = Context(
            core=core,
            bookmarks=Bookmarks(core),
            authenticator=Authenticator(core),
            authorizer=Authorizer(core),
            find_resource=lambda *names: find(*names) or self._catalog.find(*names),
            strategies=strategies(core),
        )
        self._context.followers.update(
            {
                DEFINITIONS.store_key: DefinitionController(self._context, self._catalog),
                EVENTS.store_key: EventExpiry(core),
                NAMESPACES.store_key: NamespaceController(self._context, self._catalog),
                NODES.store_key: NodeMonitor(core),
                f"clusterroles.{RBAC}": RoleAggregation(core),
            }
        )
        for resource in PROTECTION if self.options.storage_protection else ():
            self._context.followers[resource.store_key] = StorageProtection(self._context, resource)
        if self.options.quota_usage:
            self._context.followers[QUOTAS.store_key] = QuotaUsage(self._context, lambda: self.served)
        self._checks = not self._context.authorizer.lets_all
        self._find_custom = self._catalog.find
        with self._core.lock:
            for name in FIRST:
                self._make(NAMESPACES, "", name, {})
            for name, (value, about) in FIRST_PRIORITIES.items():
                self._make(PRIORITY_CLASSES, "", name, {"value": value, "description": about})
            self._make(SERVICES, "default", "kubernetes", self._own_service())
            for role in default_objects() if self._context.authorizer.has_roles else ():
                place, name = role["metadata"].get("namespace", ""), role["metadata"]["name"]
                self._make(_RESOURCES_OF_RBAC[role["kind"]], place, name, role)
            if self.options.garbage_collection:
                GarbageCollector(self._context, lambda: self.served).start()

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Hold it to start or end a watch; it is reentrant."""
        return self._core.lock

    @property
    def store(self) -> Store:
        """The store, for invariants and tests, which only read it."""
        return self._core.store

    @property
    def served(self) -> tuple[ServedResource, ...]:
        """All served resources: the built-in ones, and the custom ones of this server."""
        return self._catalog.served

    def handle(self, request: ApiRequest) -> Answer:
        """The answer to a request."""
        with self._core.lock, nullcontext() if request.admission is None else self.asking():
            call: ResourceCall | None = None
            try:
                call = call_of(request, self._find_custom)
                if self._checks:
                    self._context.authorizer.check(call)
                resource = call.resource
                if resource.described is not None and resource.described.warning:
                    call.warnings.append(resource.described.warning)
                return handler_of(resource, call.target.subresource, call.verb)(self._context, call)
            except StatusError as refusal:
                if refusal.code == 403:
                    self.denied.append(refusal.message)
                return refused(refusal, () if call is None else call.warnings)
            except (ReviewWantedError, ConversionWantedError):
                raise
            except Exception as error:
                LOG.exception("%s %s failed", request.method, request.path)
                return refused(internal_error(repr(error)))

    def asking(self) -> AbstractContextManager[None]:
        """Within it, under the lock, the caller asks for the conversions that are wanted."""
        return self._core.conversions.asking()

    def learn(self, wanted: ConversionWantedError, converted: list[Json] | FailedConversionError) -> None:
        """Take the answer of a conversion webhook."""
        with self._core.lock:
            if isinstance(converted, FailedConversionError):
                self._core.conversions.fail(wanted, str(converted))
            else:
                self._core.conversions.learn(wanted, converted)

    def user_of(self, authorization: str, certificate: tuple[str, tuple[str, ...]] | None = None) -> ApiUser:
        """The user of this Authorization header on a connection with this certificate (name, groups).

        Raises StatusError (401).
        """
        with self._core.lock:
            return self._context.authenticator.user_of(authorization, certificate)

    def admit(self, user: ApiUser) -> str:
        """A new bearer token: from now on, whoever shows it is that user."""
        with self._core.lock:
            return self._context.authenticator.admit(user)

    def check_path(self, user: ApiUser, method: str, path: str) -> None:
        """Check a request to a path that is no resource. Raises StatusError (403)."""
        with self._core.lock:
            self._context.authorizer.check_path(user, method, path)

    def check_access(self, user: ApiUser, asked: AccessAttributes) -> None:
        """Check a request that this server does not answer itself. Raises StatusError (403)."""
        with self._core.lock:
            self._context.authorizer.check_access(user, asked)

    def impersonated(self, user: ApiUser, other: ApiUser) -> ApiUser:
        """`other`, with its implied groups, if `user` may impersonate it. Raises StatusError (403)."""
        self._context.authorizer.check_impersonation(user, other)
        groups = other.groups
        if not groups and other.name.startswith(ACCOUNT_PREFIX):
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{other.name.split(':')[2]}")
        return replace(other, groups=(*groups, AUTHENTICATED))

    def new_uid(self) -> str:
        return self._core.new_uid()

    def wall_ns(self) -> int:
        """The server's time of day."""
        return self._core.wall_ns()

    def forget(self) -> None:
        """Lose the memory of changes: every watch that begins where an earlier one ended is refused (410)."""
        with self._core.lock:
            self._core.store.forget()

    def cut_watches(self, error: StatusError | None = None) -> None:
        """End every watch now."""
        with self._core.lock:
            for collection in self._core.store.collections():
                collection.end_watches(error)

    def _make(self, resource: ServedResource, namespace: str, name: str, rest: Json) -> None:
        call = call_to(
            Target(resource, namespace, ""), ApiRequest("POST", "", user=ADMIN, user_agent=_OWN_NAME), "create", {}
        )
        value = {"metadata": {"name": name}, **rest, "kind": resource.kind, "apiVersion": resource.api_version}
        write_value(self._context, call, None, value)

    def _own_service(self) -> Json:
        address = str(ip_network(self.options.service_cidr)[1])
        port = {"name": "https", "port": 443, "targetPort": self.options.port, "protocol": "TCP"}
        return {"spec": {"clusterIP": address, "ports": [port]}}
