"""Who may see an observer that is served by itself: holders of its token, from its own pages."""

from __future__ import annotations

import hmac

from aiohttp import web

from runtime.http_server.accepting import let_in
from runtime.http_server.auth.gate import bearer_of
from runtime.http_server.heads import HttpRefusal, sound_path
from runtime.http_server.local_site import refuse_other_pages
from runtime.http_server.observer import asking_for_token, is_observed


def observed_path(request: web.BaseRequest, token: str) -> str:
    """The path that the holder of the token asks for. Raises HttpRefusal for everybody else."""
    headers = request.headers
    refuse_other_pages(
        headers.get("Host", ""),
        headers.get("Origin"),
        headers.get("Sec-Fetch-Site", ""),
        followed_link=request.method == "GET" and headers.get("Sec-Fetch-Mode") == "navigate",
    )
    path = sound_path(request.path)
    shown = bearer_of(headers.get("Authorization", ""))
    if not hmac.compare_digest(shown.encode("utf-8", "surrogateescape"), token.encode()):
        raise asking_for_token(HttpRefusal(401, "Unauthorized"))
    let_in(request.transport)
    if not is_observed(path):
        raise HttpRefusal(404, "there is /ui here, and nothing else")
    return path
