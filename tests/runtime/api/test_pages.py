"""A long list, page by page, over real HTTP."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest
from aiohttp import web

from config.api.resources import PODS
from runtime.api import ApiError
from runtime.api.pages import list_all
from tests.runtime.api.conftest import Connect, Serve
from tests.runtime.api.scripted_server import WAIT, Handler, forever, pod, reply, status_object

NAMES = [f"p{number}" for number in range(7)]


def paged(expires_at: str = "") -> Handler:
    """A list of seven; a token is the number of what comes next. The one named is forgotten."""

    async def answer(request: web.Request) -> web.StreamResponse:
        at = request.query.get("continue", "")
        if at and at == expires_at:
            return reply(status_object(410, "Expired"), 410)
        limit = int(request.query.get("limit", 0)) or len(NAMES)
        begin = int(at or 0)
        end = begin + limit
        metadata = {"resourceVersion": "9", "continue": str(end) if end < len(NAMES) else ""}
        return reply({"metadata": metadata, "items": [pod(name) for name in NAMES[begin:end]]})

    return answer


@pytest.mark.parametrize(("page_size", "calls"), [(3, 3), (7, 1), (500, 1), (1, 7)])
def test_pages_make_one_list(serve: Serve, connect: Connect, page_size: int, calls: int) -> None:
    server = serve(paged())
    listed = list_all(connect(server), PODS, page_size=page_size).result(WAIT)
    assert [each.metadata.name for each in listed.items] == NAMES
    assert (listed.resource_version, listed.continue_) == ("9", "")
    assert len(server.asked) == calls


def test_every_page_selects_the_same_and_only_the_first_says_from_when(serve: Serve, connect: Connect) -> None:
    server = serve(paged())
    list_all(connect(server), PODS, "n", label_selector="a=b", resource_version="5", page_size=4).result(WAIT)
    assert [asked.path for asked in server.asked] == [
        "/api/v1/namespaces/n/pods?labelSelector=a%3Db&resourceVersion=5&limit=4",
        "/api/v1/namespaces/n/pods?labelSelector=a%3Db&limit=4&continue=4",
    ]


def test_a_forgotten_token_makes_it_one_list_in_one_piece(serve: Serve, connect: Connect) -> None:
    server = serve(paged(expires_at="4"))
    listed = list_all(connect(server), PODS, page_size=2).result(WAIT)
    assert [each.metadata.name for each in listed.items] == NAMES
    assert [asked.path.partition("?")[2] for asked in server.asked] == [
        "limit=2",
        "limit=2&continue=2",
        "limit=2&continue=4",
        "",
    ]


def test_any_other_failure_is_the_answer(serve: Serve, connect: Connect) -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return reply(status_object(410, "Expired"), 410)

    error = list_all(connect(serve(refuse)), PODS).exception(WAIT)
    assert isinstance(error, ApiError)
    assert error.expired


def test_cancelling_cancels_the_page(serve: Serve, connect: Connect) -> None:
    came, left = threading.Event(), threading.Event()

    async def hang_at_second(request: web.Request) -> web.StreamResponse:
        if "continue" not in request.query:
            return await paged()(request)
        came.set()
        try:
            return await forever(request)
        finally:
            left.set()

    listing = list_all(connect(serve(hang_at_second)), PODS, page_size=2)
    assert came.wait(WAIT)
    assert listing.cancel()
    with pytest.raises(CancelledError):
        listing.result(WAIT)
    assert left.wait(WAIT)
