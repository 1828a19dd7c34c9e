"""Authentication of requests: static bearer tokens, tokens of service accounts, client certificates.

Service account tokens are JWTs, signed with a key that the server's seed decides. A token is valid until it expires,
and only while its account, and the pod or node it is bound to, exist with the same UID. Otherwise the request is
refused (401). `authorization` decides what a user may do.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import msgspec

from simulation.apiserver.core import SECOND_NS, Core
from simulation.apiserver.requests.calls import ADMIN, ApiUser
from simulation.apiserver.status import unauthorized

AUTHENTICATED = "system:authenticated"
ANONYMOUS = ApiUser("system:anonymous", ("system:unauthenticated",))
ACCOUNT_PREFIX = "system:serviceaccount:"
_HEADER = {"alg": "HS256", "typ": "JWT"}


def user_named(name: str) -> ApiUser:
    """The user that a static token or a certificate names: `admin`, `system:node:NAME`, or any other name."""
    if name in ("admin", ADMIN.name):
        return ADMIN
    if name.startswith("system:node:"):
        return ApiUser(name, ("system:nodes", AUTHENTICATED))
    return ApiUser(name, (AUTHENTICATED,))


class Authenticator:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._key = hashlib.sha256(f"service account key {core.options.seed}".encode()).digest()
        self._static = {token: user_named(name) for token, name in (core.options.tokens or {}).items()}

    def admit(self, user: ApiUser) -> str:
        """Add a static token for that user, and return it."""
        token = self._core.new_uid().replace("-", "")
        self._static[token] = user
        return token

    def user_of(self, authorization: str, certificate: tuple[str, tuple[str, ...]] | None = None) -> ApiUser:
        """The user of this Authorization header, on a connection with this certificate (name, groups).

        Raises StatusError (401).
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            user = self.user_of_token(token.strip())
            if user is None:
                raise unauthorized()
            return user
        if certificate is not None:
            name, groups = certificate
            return ApiUser(name, (*groups, AUTHENTICATED))
        if not self._core.options.anonymous:
            raise unauthorized()
        return ADMIN if self._core.options.authorization == "AlwaysAllow" else ANONYMOUS

    def user_of_token(self, token: str, audiences: tuple[str, ...] = ()) -> ApiUser | None:
        """The user of a valid token. With `audiences`, the token must have one of them."""
        static = self._static.get(token)
        if static is not None:
            return static
        claims = self._verified(token)
        if claims is None:
            return None
        wanted = audiences or (self._core.options.issuer,)
        if not set(wanted) & set(claims.get("aud", ())):
            return None
        return self._account_of(claims)

    def sign(self, claims: dict[str, Any]) -> str:
        """A JWT of those claims."""
        content = ".".join(_text(msgspec.json.encode(part)) for part in (_HEADER, claims))
        return f"{content}.{_text(self._signature(content))}"

    def _signature(self, content: str) -> bytes:
        return hmac.digest(self._key, content.encode(), "sha256")

    def _verified(self, token: str) -> dict[str, Any] | None:
        content, _, signature = token.rpartition(".")
        try:
            if not hmac.compare_digest(_bytes(signature), self._signature(content)):
                return None
            claims = msgspec.json.decode(_bytes(content.partition(".")[2]), type=dict[str, Any])
        except (ValueError, msgspec.DecodeError):
            return None
        now_s = self._core.wall_ns() // SECOND_NS
        return claims if claims.get("nbf", 0) <= now_s < claims.get("exp", 0) else None

    def _account_of(self, claims: dict[str, Any]) -> ApiUser | None:
        of_cluster = claims["kubernetes.io"]
        namespace, account = of_cluster["namespace"], of_cluster["serviceaccount"]
        bound = [("serviceaccounts", namespace, account)]
        if "pod" in of_cluster:
            bound.append(("pods", namespace, of_cluster["pod"]))
        if "secret" in of_cluster:
            bound.append(("secrets", namespace, of_cluster["secret"]))
        for key, place, reference in bound:
            found = self._core.store.get(key, place, reference["name"])
            if found is None or found.uid != reference["uid"]:
                return None
        extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims.get('jti', '')}",)}
        for kind in ("pod", "node"):
            if kind in of_cluster:
                extra[f"authentication.kubernetes.io/{kind}-name"] = (of_cluster[kind]["name"],)
                extra[f"authentication.kubernetes.io/{kind}-uid"] = (of_cluster[kind]["uid"],)
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
        return ApiUser(f"{ACCOUNT_PREFIX}{namespace}:{account['name']}", groups, account["uid"], extra)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
