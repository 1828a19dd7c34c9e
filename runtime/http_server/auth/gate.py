"""Authenticates and authorizes a request (spec 17.1, 11.4): 401, 403, or the user.

It checks in this order: the certificate of the connection, a bearer token (by TokenReview), anonymous access if that is
allowed. A request with an invalid token or certificate is never anonymous. Answers of the API server are kept as long
as the configuration says, and tokens only as hashes. When the API server does not answer, nobody is let in: 401 for a
token, 500 for an authorization.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import ssl
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from config.api.resources import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS
from config.credentials.masked import masked
from config.kubelet.configuration import Authentication, Authorization
from config.objects import (
    ResourceAttributes,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
    SubjectAccessReviewStatus,
    TokenReview,
    TokenReviewSpec,
)
from runtime.api import Api, ApiError, create, in_turn_of
from runtime.http_server.auth.access import (
    ANONYMOUS,
    AUTHENTICATED,
    RESOURCE,
    RequestAttributes,
    RequestUser,
    attributes_of,
    forbidden,
)
from runtime.http_server.auth.client_certificates import Shown
from runtime.http_server.auth.reviews import PAUSES_S, ReviewCache, ReviewMeters, TooManyReviewsError, ask_api
from runtime.http_server.heads import HttpRefusal
from runtime.metrics import kubelet_api as names
from runtime.metrics.meters import UNMEASURED, Meters

LOG = logging.getLogger("actorlet.http-server")

ALWAYS_ALLOW, WEBHOOK = "AlwaysAllow", "Webhook"
BAD_TOKEN_NS = 10 * 10**9
"""How long it is known that a token is nobody's, at most: it may be somebody's in a moment."""
TOKEN_CHARACTERS_AT_MOST = 16 * 1024
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*", re.ASCII)
"""RFC 6750, section 2.1."""


class GateError(Exception):
    """The configuration needs something that is missing; the text names the field and the remedy."""


class AccessGate:
    """See the module. `pauses_s`: between attempts. Raises GateError."""

    def __init__(
        self,
        node: str,
        authentication: Authentication,
        authorization: Authorization,
        api: Api | None,
        pauses_s: tuple[float, ...] = PAUSES_S,
        meters: Meters = UNMEASURED,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if authorization.mode not in (ALWAYS_ALLOW, WEBHOOK):
            raise GateError(_unknown_mode(authorization))
        self._node = node
        self._api = api
        self._pauses_s = pauses_s
        self._meters = meters
        self._measured = ReviewMeters(meters, names.ACCESS_REVIEWS, names.ACCESS_REVIEW_DURATION)
        self._anonymous = authentication.anonymous.enabled
        self._tokens: _Tokens | None = None
        if authentication.webhook.enabled and api is not None:
            self._tokens = _Tokens(api, authentication.webhook.cache_ttl, pauses_s, meters, now_ns)
        self._allow_all = authorization.mode == ALWAYS_ALLOW
        webhook = authorization.webhook
        self._reviews: ReviewCache[tuple[RequestUser, RequestAttributes], SubjectAccessReviewStatus] = ReviewCache(
            lambda status: webhook.cache_authorized_ttl if status.allowed else webhook.cache_unauthorized_ttl,
            now_ns,
            is_good=lambda status: status.allowed,
        )

    async def admit(self, method: str, path: str, authorization: str, shown: Shown, source: str = "") -> RequestUser:
        """The user who may do this. Raises HttpRefusal.

        `source`: of the client, as `guests.source_of` tells it.
        """
        attributes = attributes_of(method, path)
        try:
            user = await self.user_of(authorization, shown, source)
            if not await self._may(user, attributes, source):
                raise HttpRefusal(403, forbidden(user, attributes))
        except TooManyReviewsError:
            raise HttpRefusal(429, "too many reviews are under way; ask again", (("Retry-After", "1"),)) from None
        return user

    async def user_of(self, authorization: str, shown: Shown, source: str = "") -> RequestUser:
        """The user of a request. Raises HttpRefusal, TooManyReviewsError."""
        known = user_of_certificate(shown.certificate) if shown.certificate and not shown.fault else None
        if known is not None and shown.certificate:
            left_s = ssl.cert_time_to_seconds(shown.certificate["notAfter"]) - time.time()
            self._meters.observe(names.CLIENT_CERTIFICATE_LEFT, left_s)
            return known
        scheme, _, token = authorization.strip().partition(" ")
        if scheme.lower() == "bearer" and token.strip() and self._tokens is not None:
            user = await self._tokens.user_of(token.strip(), source)
            if user is None:
                raise _unauthorized()
            return user
        if shown.fault:
            # Closing makes client libraries that keep connections open a new one.
            raise HttpRefusal(401, f"Unauthorized: {shown.fault}", (("Connection", "close"),))
        if self._anonymous:
            return ANONYMOUS
        raise _unauthorized()

    async def _may(self, user: RequestUser, attributes: tuple[RequestAttributes, ...], source: str) -> bool:
        if self._allow_all:
            return True
        if self._api is None:
            return False
        failures = []
        for each in attributes:
            try:
                status = await self._reviews.get((user, each), partial(self._review, user, each, source), source)
            except ApiError as error:
                failures.append(str(error))
                continue
            if status.allowed:
                return True
            if status.evaluation_error:
                LOG.warning("the decision whether %s is allowed had an error: %s", user.name, status.evaluation_error)
        if failures:
            LOG.warning("cannot ask the API server whether %s is allowed: %s", user.name, failures[0])
            raise HttpRefusal(500, f"Authorization error (user={user.name}): {failures[0]}")
        return False

    async def _review(self, user: RequestUser, attributes: RequestAttributes, source: str) -> SubjectAccessReviewStatus:
        assert self._api is not None, "without an API server nobody is let in, and nothing is asked"
        spec = SubjectAccessReviewSpec(
            user=user.name,
            groups=user.groups,
            uid=user.uid or None,
            extra=dict(user.extra),
            resource_attributes=ResourceAttributes(
                verb=attributes.verb,
                group="",
                version="v1",
                resource=RESOURCE,
                subresource=attributes.subresource,
                name=self._node,
            ),
        )
        call = in_turn_of(create(SUBJECT_ACCESS_REVIEWS, "", SubjectAccessReview(spec=spec)), source)
        review = await ask_api(self._api, call, self._pauses_s, self._measured)
        return review.status or SubjectAccessReviewStatus()


class _Tokens:
    """Bearer tokens, by their hashes."""

    def __init__(
        self, api: Api, keep_ns: int, pauses_s: tuple[float, ...], meters: Meters, now_ns: Callable[[], int]
    ) -> None:
        self._meters = meters
        self._measured = ReviewMeters(meters, names.TOKEN_REVIEWS, names.TOKEN_REVIEW_DURATION)
        self._api = api
        self._pauses_s = pauses_s
        bad_ns = min(keep_ns, BAD_TOKEN_NS)
        self._users: ReviewCache[bytes, RequestUser | None] = ReviewCache(
            lambda user: bad_ns if user is None else keep_ns, now_ns, is_good=lambda user: user is not None
        )

    async def user_of(self, token: str, source: str) -> RequestUser | None:
        """The user of a token; None if nobody has it, or the API server cannot be asked.

        Raises TooManyReviewsError.
        """
        if len(token) > TOKEN_CHARACTERS_AT_MOST or not _TOKEN.fullmatch(token):
            return None  # nobody has such a token, and nobody has to be asked
        key = hashlib.sha256(token.encode()).digest()
        began_ns, status = time.monotonic_ns(), "hit" if key in self._users else "miss"
        if status == "miss":
            self._meters.add(names.TOKEN_FETCHES_NOW, 1, "blocked")
        try:
            return await self._users.get(key, partial(self._fetch, token, source), source)
        except ApiError as error:
            LOG.warning("cannot ask the API server to review a token: %s", masked(str(error), (token,)))
            return None
        finally:
            if status == "miss":
                self._meters.add(names.TOKEN_FETCHES_NOW, -1, "blocked")
            self._meters.count(names.TOKEN_LOOKUPS, status)
            self._meters.took(names.TOKEN_LOOKUP_DURATION, time.monotonic_ns() - began_ns, status)

    async def _fetch(self, token: str, source: str) -> RequestUser | None:
        """Ask whose token it is, and measure that."""
        self._meters.add(names.TOKEN_FETCHES_NOW, 1, "in_flight")
        status = "error"
        try:
            user = await self._review(token, source)
            status = "ok"
        finally:
            self._meters.add(names.TOKEN_FETCHES_NOW, -1, "in_flight")
            self._meters.count(names.TOKEN_FETCHES, status)
        return user

    async def _review(self, token: str, source: str) -> RequestUser | None:
        call = in_turn_of(create(TOKEN_REVIEWS, "", TokenReview(spec=TokenReviewSpec(token=token))), source)
        review = await ask_api(self._api, call, self._pauses_s, self._measured)
        status = review.status
        if status is None or not status.authenticated or status.user is None:
            return None
        user = status.user
        extra = tuple((name, tuple(values)) for name, values in sorted(user.extra.items()))
        return RequestUser(user.username or "", tuple(user.groups), user.uid or "", extra)


def refuse_other_sites(method: str, site: str, mode: str) -> None:
    """Raises HttpRefusal for a request that a page of another site makes in a user's browser.

    A browser sends the user's certificate with every request, whoever wrote the page. Its headers `Sec-Fetch-Site` and
    `Sec-Fetch-Mode` tell where the page is from. To follow a link is allowed: that page cannot see the answer.
    """
    if site in ("cross-site", "same-site") and not (method == "GET" and mode == "navigate"):
        raise HttpRefusal(403, "Forbidden: a page of another site asks")


def bearer_of(authorization: str) -> str:
    """The token in an Authorization header, also as the password of a browser."""
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return ""


def gate_faults(authentication: Authentication, authorization: Authorization, joined: bool) -> tuple[str, ...]:
    """Faults of settings that the node cannot honour; `joined`: it has an API server."""
    faults = []
    if authorization.mode not in (ALWAYS_ALLOW, WEBHOOK):
        faults.append(_unknown_mode(authorization))
    hint = "give --kubeconfig, or switch the server off with enableServer: false"
    if authorization.mode == WEBHOOK and not joined:
        faults.append(f"$.authorization.mode: {WEBHOOK} asks an API server; use {ALWAYS_ALLOW}, {hint}")
    if authentication.webhook.enabled and not joined:
        faults.append(f"$.authentication.webhook.enabled: it asks an API server; set it to false, {hint}")
    return tuple(faults)


def _unknown_mode(authorization: Authorization) -> str:
    return f"$.authorization.mode: {authorization.mode!r} is unknown; use {ALWAYS_ALLOW} or {WEBHOOK}"


def user_of_certificate(certificate: Mapping[str, Any]) -> RequestUser | None:
    """The common name, with the organizations as groups; None without a name."""
    fields = [pair for part in certificate.get("subject", ()) for pair in part]
    name = next((value for field, value in fields if field == "commonName"), "")
    groups = tuple(value for field, value in fields if field == "organizationName")
    return RequestUser(name, (*groups, AUTHENTICATED)) if name else None


def _unauthorized() -> HttpRefusal:
    return HttpRefusal(401, "Unauthorized")
