"""Which policies in CEL concern a request, and what their expressions read.

A policy is evaluated once for each of its bindings, and for each object with parameters that the binding names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from simulation.apiserver.admission.attributes import DELETE, Attributes
from simulation.apiserver.admission.webhooks import asked_of
from simulation.apiserver.kinds.table import DEFINITIONS, NAMESPACES, SERVED, ServedResource
from simulation.apiserver.status import Json
from simulation.validations.policies import matches
from simulation.webhooks.matching import Asked, selects


class Invocation(msgspec.Struct, frozen=True, eq=False):
    """One evaluation. `params`: the object with parameters, None without one."""

    policy: Json
    binding: Json
    params: Json | None

    @property
    def key(self) -> str:
        metadata = {} if self.params is None else self.params["metadata"]
        names = (self.policy["metadata"]["name"], self.binding["metadata"]["name"])
        return "/".join((*names, metadata.get("namespace") or "", metadata.get("name") or ""))


class Misconfigured(msgspec.Struct, frozen=True, eq=False):
    """A policy that concerns the request and cannot be evaluated.

    Without `binding` it cannot be for any of them.
    """

    policy: Json
    binding: Json | None
    why: str


class _WrongBindingError(Exception):
    """The parameters of a binding cannot be found; the text says why."""


def invocations(
    this: Attributes,
    policies: ServedResource,
    bindings: ServedResource,
    is_evaluated: Callable[[Json], bool],
) -> tuple[Asked, list[Invocation | Misconfigured]]:
    """The request as rules see it, and the policies that concern it, by name."""
    asked = asked_of(this.core.store, this.call, this.old, this.new)
    of_policies: dict[str, list[Json]] = {}
    for one in this.core.store.of[bindings.store_key].in_namespace(""):
        of_policies.setdefault(one.object["spec"].get("policyName") or "", []).append(one.object)
    found: list[Invocation | Misconfigured] = []
    for name in sorted(of_policies):
        policy = this.core.store.get(policies.store_key, "", name)
        if policy is not None and is_evaluated(policy.object):
            found += _of_policy(this, asked, policy.object, of_policies[name])
    return asked, found


def _of_policy(
    this: Attributes, asked: Asked, policy: Json, bindings: list[Json]
) -> Iterator[Invocation | Misconfigured]:
    if not matches(policy["spec"].get("matchConstraints"), asked):
        return
    kind = policy["spec"].get("paramKind")
    if kind and not _store_key(this, kind):
        why = f"failed to find resource referenced by paramKind: '{kind['apiVersion']}, Kind={kind['kind']}'"
        yield Misconfigured(policy, None, f"failed to configure policy: {why}")
        return
    for binding in sorted(bindings, key=lambda one: str(one["metadata"]["name"])):
        if not matches(binding["spec"].get("matchResources"), asked):
            continue
        try:
            for params in _params(this, kind, binding["spec"].get("paramRef")):
                yield Invocation(policy, binding, params)
        except _WrongBindingError as error:
            yield Misconfigured(policy, binding, f"failed to configure binding: {error}")


def data_of(this: Attributes, asked: Asked, params: Json | None) -> dict[str, Any]:
    """What the expressions of a policy read.

    Fields of the request that are empty are absent, as Go leaves them out.
    """
    call, resource = this.call, this.call.resource
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    named = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    may_lack = {
        "subResource": call.target.subresource,
        "requestSubResource": call.target.subresource,
        "name": this.name,
        "namespace": call.namespace,
    }
    request = {
        "kind": kind,
        "resource": named,
        "requestKind": kind,
        "requestResource": named,
        **{name: text for name, text in may_lack.items() if text},
        "operation": asked.operation,
        "userInfo": asked.user,
        "dryRun": call.dry_run,
    }
    home = this.core.store.get(NAMESPACES.store_key, "", call.namespace)
    return {
        "object": None if this.operation == DELETE else this.new,
        "oldObject": this.old,
        "request": request,
        "params": params,
        "namespaceObject": None if home is None else home.object,
    }


def _params(this: Attributes, kind: Json | None, reference: Json | None) -> Iterator[Json | None]:
    """The parameters of a binding, each for one evaluation; None without any. Raises _WrongBindingError."""
    if not kind or not reference:
        yield None
        return
    known = this.core.store.of[_store_key(this, kind)]
    namespace = reference.get("namespace") or this.call.namespace
    found = [one.object for place in dict.fromkeys((namespace, "")) for one in known.in_namespace(place)]
    if reference.get("name"):
        found = [one for one in found if one["metadata"]["name"] == reference["name"]]
    else:
        wanted = reference.get("selector") or {}
        found = [one for one in found if selects(wanted, one["metadata"].get("labels") or {})]
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise _WrongBindingError("no params found for policy binding with `Deny` parameterNotFoundAction")
    yield from found


def _store_key(this: Attributes, kind: Json) -> str:
    """Where the objects of a kind are stored; empty for an unknown kind."""
    api_version, name = kind.get("apiVersion"), kind.get("kind")
    built_in = (one.store_key for one in SERVED if (one.api_version, one.kind) == (api_version, name) and one.stored)
    group = str(api_version).partition("/")[0]
    custom = (
        one.name
        for one in this.core.store.of[DEFINITIONS.store_key].all()
        if (one.object["spec"]["group"], one.object["spec"]["names"]["kind"]) == (group, name)
    )
    return next(built_in, None) or next(custom, "")
