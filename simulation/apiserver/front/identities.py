"""Who sends a request over HTTP.

The subject of its certificate, the user that it impersonates, or a page of a browser, which is refused.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from multidict import CIMultiDict, CIMultiDictProxy

from runtime.http_server.heads import HttpRefusal
from runtime.http_server.local_site import refuse_other_pages, refuse_simple_bodies
from simulation.apiserver.requests.calls import ApiUser
from simulation.apiserver.status import StatusError

Headers = CIMultiDictProxy[str] | CIMultiDict[str]
_EXTRA = "impersonate-extra-"


def other_user(headers: Headers) -> ApiUser:
    """The user in the impersonation headers."""
    extra: dict[str, tuple[str, ...]] = {}
    for name in headers:
        if name.lower().startswith(_EXTRA):
            extra[unquote(name[len(_EXTRA) :].lower())] = tuple(headers.getall(name))
    groups = tuple(headers.getall("Impersonate-Group", ()))
    return ApiUser(headers["Impersonate-User"], groups, headers.get("Impersonate-Uid", ""), extra)


def subject_of(certificate: Any) -> tuple[str, tuple[str, ...]]:
    """Name and groups of a client certificate, as `ssl` shows it."""
    fields = [pair for part in certificate.get("subject", ()) for pair in part]
    name = next((value for field, value in fields if field == "commonName"), "")
    return name, tuple(value for field, value in fields if field == "organizationName")


def refuse_strangers(headers: Headers, has_body: bool) -> None:
    """Refuse requests of web pages: without TLS, every client that reaches the port is admin.

    Raises StatusError.
    """
    try:
        refuse_other_pages(headers.get("Host", ""), headers.get("Origin"), headers.get("Sec-Fetch-Site", ""))
        if has_body:
            refuse_simple_bodies(headers.get("Content-Type", ""))
    except HttpRefusal as refusal:
        reason = "UnsupportedMediaType" if refusal.status == 415 else "Forbidden"
        raise StatusError(refusal.status, reason, refusal.text, {}) from None
