"""Reviews: whose token is this, who am I, may somebody do something. Asked by being created, answered, not stored."""

from __future__ import annotations

from typing import Any

from simulation.apiserver.authorization import Attributes
from simulation.apiserver.requests import Answer, Call, JsonAnswer, User
from simulation.apiserver.status import Json, StatusError, bad_request
from simulation.apiserver.verbs.asked import asked_body
from simulation.apiserver.verbs.context import Context


def token_review(context: Context, call: Call) -> Answer:
    """TokenReview."""
    review = _review(call)
    spec = review.get("spec") or {}
    audiences = tuple(spec.get("audiences") or ())
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    user = context.authenticator.user_of_token(spec["token"], audiences)
    if user is None:
        return JsonAnswer({**review, "status": {"error": "invalid bearer token", "user": {}}}, 201)
    status = {
        "authenticated": True,
        "user": _user_info(user),
        "audiences": list(audiences) or [context.core.options.issuer],
    }
    return JsonAnswer({**review, "status": status}, 201)


def who_am_i(context: Context, call: Call) -> Answer:
    """SelfSubjectReview (`kubectl auth whoami`)."""
    review = _review(call)
    metadata = {**(review.get("metadata") or {}), "creationTimestamp": context.core.timestamp()}
    return JsonAnswer({**review, "metadata": metadata, "status": {"userInfo": _user_info(call.user)}}, 201)


def may_i(context: Context, call: Call) -> Answer:
    """SelfSubjectAccessReview (`kubectl auth can-i`)."""
    return _decided(context, _review(call), call.user)


def may_somebody(context: Context, call: Call) -> Answer:
    """SubjectAccessReview, and the one of a namespace."""
    review = _review(call)
    spec = review.get("spec") or {}
    if not spec.get("user") and not spec.get("groups"):
        raise bad_request("at least one of user or group must be specified")
    extra = {name: tuple(values or ()) for name, values in (spec.get("extra") or {}).items()}
    user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)
    return _decided(context, review, user)


def my_rules(context: Context, call: Call) -> Answer:
    """SelfSubjectRulesReview (`kubectl auth can-i --list`)."""
    review = _review(call)
    everything = context.authorizer.may_everything(call.user)
    rules: list[Any] = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}] if everything else []
    paths: list[Any] = [{"verbs": ["*"], "nonResourceURLs": ["*"]}] if everything else []
    status = {"resourceRules": rules, "nonResourceRules": paths, "incomplete": not everything}
    return JsonAnswer({**review, "status": status}, 201)


def _review(call: Call) -> Json:
    return {"metadata": {}, **asked_body(call)}


def _user_info(user: User) -> Json:
    info: Json = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = {name: list(values) for name, values in user.extra.items()}
    return info


def _decided(context: Context, review: Json, user: User) -> Answer:
    spec = review.get("spec") or {}
    asked = spec.get("resourceAttributes")
    if asked is None:
        allowed, reason = context.authorizer.may_everything(user), ""
    else:
        attributes = Attributes(
            verb=asked.get("verb", ""),
            group=asked.get("group", ""),
            resource=asked.get("resource", ""),
            subresource=asked.get("subresource", ""),
            namespace=asked.get("namespace", ""),
            name=asked.get("name", ""),
        )
        try:
            refusal = context.authorizer.refusal(user, attributes)
        except StatusError as error:
            refusal = error.message
        allowed, reason = refusal is None, refusal or ""
    status: Json = {"allowed": allowed}
    if reason:
        status["reason"] = reason
    return JsonAnswer({**review, "status": status}, 201)
