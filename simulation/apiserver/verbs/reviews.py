"""Reviews: the user of a token, the requester's own user, permissions.

They are answered, and never stored.
"""

from __future__ import annotations

import msgspec

from simulation.apiserver.access.attributes import AccessAttributes
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.answers import Answer, JsonAnswer
from simulation.apiserver.requests.calls import ApiUser, ResourceCall, user_info
from simulation.apiserver.status import Json, bad_request, invalid, invalid_value
from simulation.apiserver.verbs.asked import asked_body
from simulation.rbac.rules import EVERYTHING

_NAMESPACE = "spec.resourceAttributes.namespace"


def token_review(context: Context, call: ResourceCall) -> Answer:
    """TokenReview."""
    spec = asked_body(call).get("spec") or {}
    audiences = list(spec.get("audiences") or ())
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    user = context.authenticator.user_of_token(spec["token"], tuple(audiences))
    if user is None:
        return _answer(call, {"error": "invalid bearer token", "user": {}})
    audiences = audiences or [context.core.options.issuer]
    return _answer(call, {"authenticated": True, "user": user_info(user), "audiences": audiences})


def who_am_i(context: Context, call: ResourceCall) -> Answer:
    """SelfSubjectReview (`kubectl auth whoami`)."""
    return _answer(call, {"userInfo": user_info(call.user)}, creationTimestamp=context.core.timestamp())


def may_i(context: Context, call: ResourceCall) -> Answer:
    """SelfSubjectAccessReview (`kubectl auth can-i`)."""
    return _decided(context, call, call.user)


def may_somebody(context: Context, call: ResourceCall) -> Answer:
    """SubjectAccessReview, and the one of a namespace."""
    spec = asked_body(call).get("spec") or {}
    if not spec.get("user") and not spec.get("groups"):
        raise bad_request("at least one of user or group must be specified")
    extra = {name: tuple(values or ()) for name, values in (spec.get("extra") or {}).items()}
    user = ApiUser(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)
    return _decided(context, call, user)


def my_rules(context: Context, call: ResourceCall) -> Answer:
    """SelfSubjectRulesReview (`kubectl auth can-i --list`)."""
    user, namespace = call.user, (asked_body(call).get("spec") or {}).get("namespace") or ""
    if not namespace:
        raise bad_request("no namespace on request")
    rules = [one.rule for one in context.authorizer.granted(user, namespace) if not one.lacks]
    if context.authorizer.may_everything(user):
        rules = EVERYTHING
    status: Json = {
        "resourceRules": [rule for rule in rules if "nonResourceURLs" not in rule],
        "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
        "incomplete": bool(user.node),
    }
    if user.node:
        status["evaluationError"] = "node authorizer does not support user rule resolution"
    return _answer(call, status)


def _answer(call: ResourceCall, status: Json, **metadata: str) -> Answer:
    review = asked_body(call)
    return JsonAnswer({**review, "metadata": {**(review.get("metadata") or {}), **metadata}, "status": status}, 201)


def _decided(context: Context, call: ResourceCall, user: ApiUser) -> Answer:
    spec, authorizer = asked_body(call).get("spec") or {}, context.authorizer
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes") or {}
    if asked is None:
        allowed, reason = authorizer.decide_path(user, path.get("verb", ""), path.get("path", ""))
    else:
        if call.namespace and asked.get("namespace") != call.namespace:
            cause = invalid_value(_NAMESPACE, asked.get("namespace", ""), "must match metadata.namespace")
            raise invalid(call.resource, "", [cause])
        known = {field: asked[field] for field in AccessAttributes.__struct_fields__ if field in asked}
        attributes = msgspec.convert({"verb": "", "group": "", "resource": "", **known}, AccessAttributes)
        allowed, reason = authorizer.decide(user, attributes)
    return _answer(call, {"allowed": allowed, **({"reason": reason} if reason else {})})
