"""The API server without a network: a request goes in, an answer comes out.

`handle` never waits. A refusal is an answer, too; the answer of a watch is an object that the caller follows. It raises
only `ReviewWantedError`, for a request with an `Admission`. Safe for threads: one lock guards everything. Time, names
and random numbers come from the given clock. So on a simulated dispatcher, the same requests in the same order get the
same answers.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from ipaddress import ip_network

from actors.kernel.dispatcher import Dispatcher
from simulation.apiserver.authentication import ACCOUNT_PREFIX, AUTHENTICATED, Authenticator
from simulation.apiserver.authorization import AccessAttributes, Authorizer
from simulation.apiserver.builtin.rules import PublishedRules
from simulation.apiserver.core import Core, Options
from simulation.apiserver.custom.definition_rules import DefinitionRules
from simulation.apiserver.custom.scale import scale
from simulation.apiserver.garbage.garbage_collector import GarbageCollector
from simulation.apiserver.kinds.certificates import CertificateRequestRules
from simulation.apiserver.kinds.config_data import DataRules
from simulation.apiserver.kinds.events import EventRules
from simulation.apiserver.kinds.namespaces import FIRST, NamespaceRules
from simulation.apiserver.kinds.nodes import NodeKindRules
from simulation.apiserver.kinds.pods import PodRules
from simulation.apiserver.kinds.roles import BindingRules, RoleRules
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.kinds.services import ServiceRules
from simulation.apiserver.requests import (
    ADMIN,
    Answer,
    ApiRequest,
    ApiUser,
    JsonAnswer,
    ResourceCall,
    Target,
    call_of,
    call_to,
)
from simulation.apiserver.resources import DEFINITIONS, NAMESPACES, SERVED, SERVICES, ServedResource
from simulation.apiserver.status import Json, StatusError, internal_error
from simulation.apiserver.store import Store
from simulation.apiserver.verbs.bind import bind
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.delete import delete, delete_collection, evict
from simulation.apiserver.verbs.node_parts import node_proxy, pod_log, pod_portforward, pod_stream
from simulation.apiserver.verbs.read import Bookmarks, list_objects, read, watch
from simulation.apiserver.verbs.reviews import may_i, may_somebody, my_rules, token_review, who_am_i
from simulation.apiserver.verbs.token_request import request_token
from simulation.apiserver.verbs.write import create, create_value, patch, update
from simulation.rbac.defaults import default_objects
from simulation.rbac.roles import GROUP as RBAC
from simulation.webhooks.reviews import ReviewWantedError

DENIED_AT_MOST = 1000
LOG = logging.getLogger("actorlet.apiserver")

_PARTS: dict[tuple[str, str], Callable[[Context, ResourceCall], Answer]] = {
    ("pods", "attach"): pod_stream,
    ("pods", "binding"): bind,
    ("pods", "eviction"): evict,
    ("pods", "exec"): pod_stream,
    ("pods", "log"): pod_log,
    ("pods", "portforward"): pod_portforward,
    ("nodes", "proxy"): node_proxy,
    ("serviceaccounts", "token"): request_token,
    ("bindings", ""): bind,
    ("localsubjectaccessreviews.authorization.k8s.io", ""): may_somebody,
    ("selfsubjectaccessreviews.authorization.k8s.io", ""): may_i,
    ("selfsubjectreviews.authentication.k8s.io", ""): who_am_i,
    ("selfsubjectrulesreviews.authorization.k8s.io", ""): my_rules,
    ("subjectaccessreviews.authorization.k8s.io", ""): may_somebody,
    ("tokenreviews.authentication.k8s.io", ""): token_review,
}
"""Special handlers: (resource, part)."""

_RULES: dict[str, Callable[[Core, ServedResource], KindRules]] = {
    "certificatesigningrequests.certificates.k8s.io": CertificateRequestRules,
    "clusterrolebindings.rbac.authorization.k8s.io": BindingRules,
    "clusterroles.rbac.authorization.k8s.io": RoleRules,
    "configmaps": DataRules,
    "customresourcedefinitions.apiextensions.k8s.io": DefinitionRules,
    "events": EventRules,
    "namespaces": NamespaceRules,
    "nodes": NodeKindRules,
    "pods": PodRules,
    "rolebindings.rbac.authorization.k8s.io": BindingRules,
    "roles.rbac.authorization.k8s.io": RoleRules,
    "secrets": DataRules,
    "services": ServiceRules,
}
"""Kinds with rules of their own, by store key."""

_RESOURCES_OF_RBAC = {resource.kind: resource for resource in SERVED if resource.group == RBAC}

_VERBS: dict[str, Callable[[Context, ResourceCall], Answer]] = {
    "create": create,
    "delete": delete,
    "deletecollection": delete_collection,
    "get": read,
    "list": list_objects,
    "patch": patch,
    "update": update,
    "watch": watch,
}


class ApiServer:
    def __init__(self, clock: Dispatcher, options: Options | None = None) -> None:
        self.options = options or Options()
        self._core = Core(clock, self.options)
        self._core.empty = self._empty
        kinds = {
            resource.store_key: _rules_of(resource)(self._core, resource)
            for resource in SERVED
            if resource.stored and not resource.storage
        }
        self.denied: deque[str] = deque(maxlen=DENIED_AT_MOST)
        """The last requests refused for lack of permission.

        A test checks here that an agent asks for nothing that it may not have.
        """
        self._context = Context(
            core=self._core,
            kinds=kinds,
            bookmarks=Bookmarks(self._core),
            authenticator=Authenticator(self._core),
            authorizer=Authorizer(self._core),
        )
        self._checks = not self._context.authorizer.lets_all
        namespaces = kinds["namespaces"]
        assert isinstance(namespaces, NamespaceRules)
        definitions = kinds[DEFINITIONS.store_key]
        assert isinstance(definitions, DefinitionRules)
        definitions.add_rules = kinds.__setitem__
        self._custom = definitions.catalog
        self._find_custom = self._custom.find
        namespaces.resources = self._custom.one_of_each
        with self._core.lock:
            for name in FIRST:
                self._make(NAMESPACES, "", name, {})
            self._make(SERVICES, "default", "kubernetes", self._own_service())
            for value in default_objects() if self._context.authorizer.has_roles else ():
                place, name = value["metadata"].get("namespace", ""), value["metadata"]["name"]
                self._make(_RESOURCES_OF_RBAC[value["kind"]], place, name, value)
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
        return self._custom.served

    def handle(self, request: ApiRequest) -> Answer:
        """The answer to a request."""
        with self._core.lock:
            try:
                call = call_of(request, self._find_custom)
                if self._checks:
                    self._context.authorizer.check(call)
                resource = call.resource
                if resource.custom is not None and resource.custom.warning:
                    call.warnings.append(resource.custom.warning)
                return _carries_out(resource, call.target.subresource, call.verb)(self._context, call)
            except StatusError as refusal:
                if refusal.code == 403:
                    self.denied.append(refusal.message)
                return refused(refusal)
            except ReviewWantedError:
                raise
            except Exception as error:
                LOG.exception("%s %s failed", request.method, request.path)
                return refused(internal_error(repr(error)))

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
        call = call_to(Target(resource, namespace, ""), ApiRequest("POST", "", user=ADMIN), "create", {})
        value = {"metadata": {"name": name}, **rest, "kind": resource.kind, "apiVersion": resource.api_version}
        create_value(self._context, call, value)

    def _own_service(self) -> Json:
        address = str(ip_network(self.options.service_cidr)[1])
        port = {"name": "https", "port": 443, "targetPort": self.options.port, "protocol": "TCP"}
        return {"spec": {"clusterIP": address, "ports": [port]}}

    def _empty(self, resource: ServedResource, namespace: str) -> None:
        call = call_to(Target(resource, namespace, ""), ApiRequest("DELETE", ""), "deletecollection", {})
        delete_collection(self._context, call)


def _rules_of(resource: ServedResource) -> Callable[[Core, ServedResource], KindRules]:
    return _RULES.get(resource.store_key, KindRules if resource.custom is None else PublishedRules)


def _carries_out(resource: ServedResource, part: str, verb: str) -> Callable[[Context, ResourceCall], Answer]:
    """The handler of a request to a resource, or to that part of it."""
    special = _PARTS.get((resource.group_resource, part))
    return special or (scale if part == "scale" else _VERBS[verb])


def error_of(answer: Answer) -> StatusError:
    """The error in the answer of a refusal."""
    value: Json = answer.value if isinstance(answer, JsonAnswer) else {}
    return StatusError(answer.code, value.get("reason", ""), value.get("message", ""), value.get("details"))


def refused(error: StatusError) -> JsonAnswer:
    """The answer that a refusal is."""
    return JsonAnswer(error.as_object(), error.code, retry_after_s=error.retry_after_s)
