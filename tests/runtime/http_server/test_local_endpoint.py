"""The local endpoint over a real socket: what it shows, who may ask, and who may not serve."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from runtime.http_server.local_endpoint import (
    LocalEndpoint,
    LocalEndpointError,
    Reply,
    RootDirectoryTakenError,
    View,
    ask,
    socket_path,
)
from runtime.io.event_loop import LoopThread


def broken() -> Reply:
    raise KeyError("pod")


VIEWS: Mapping[str, View] = {
    "/pods": lambda: Reply(b'{"items":[]}'),
    "/health": lambda: Reply(b"{}", 503),
    "/broken": broken,
}


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread("test")
    yield loop
    loop.close()


@pytest.fixture
def endpoint(tmp_path: Path, loop: LoopThread) -> Iterator[LocalEndpoint]:
    endpoint = LocalEndpoint(str(tmp_path), VIEWS, loop, {"/explain/": lambda wanted: Reply(wanted.encode())})
    endpoint.start()
    yield endpoint
    endpoint.close()


@pytest.mark.usefixtures("endpoint")
def test_a_question_is_told_what_it_is_about(tmp_path: Path) -> None:
    assert ask(str(tmp_path), "/explain/shop/web%20%25").body == b"shop/web %"
    assert ask(str(tmp_path), "/explain/").body == b""
    assert b"/explain/..., " in ask(str(tmp_path), "/explain").body


@pytest.mark.usefixtures("endpoint")
def test_a_view_is_answered_with_its_status(tmp_path: Path) -> None:
    answer = ask(str(tmp_path), "/pods")
    assert (answer.status, answer.body) == (200, b'{"items":[]}')
    assert answer.wall_ns > 0
    assert ask(str(tmp_path), "/health").status == 503


@pytest.mark.usefixtures("endpoint")
def test_an_unknown_view_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    answer = ask(str(tmp_path), "/secrets")
    assert answer.status == 404
    assert json.loads(answer.body) == {"error": "there is no /secrets; there are /broken, /explain/..., /health, /pods"}


@pytest.mark.usefixtures("endpoint")
def test_a_view_that_fails_is_an_answer_and_others_go_on(tmp_path: Path) -> None:
    answer = ask(str(tmp_path), "/broken")
    assert (answer.status, json.loads(answer.body)) == (500, {"error": "/broken cannot be shown: KeyError: 'pod'"})
    assert ask(str(tmp_path), "/pods").status == 200


def test_a_view_that_hangs_does_not_hold_up_another(tmp_path: Path, loop: LoopThread) -> None:
    release = threading.Event()

    def hang() -> Reply:
        release.wait()
        return Reply(b"{}")

    endpoint = LocalEndpoint(str(tmp_path), {"/hang": hang, **VIEWS}, loop)
    endpoint.start()
    try:
        with pytest.raises(LocalEndpointError, match=r"has not answered within 0\.2 s"):
            ask(str(tmp_path), "/hang", timeout_seconds=0.2)
        assert ask(str(tmp_path), "/pods").status == 200
    finally:
        release.set()
        endpoint.close()


def test_only_the_owner_may_connect(endpoint: LocalEndpoint) -> None:
    assert stat.S_IMODE(os.stat(endpoint.path).st_mode) == 0o600


def test_a_second_agent_is_refused_and_the_first_serves_on(
    endpoint: LocalEndpoint, tmp_path: Path, loop: LoopThread
) -> None:
    with pytest.raises(RootDirectoryTakenError, match="another agent runs on"):
        LocalEndpoint(str(tmp_path), {}, loop).start()
    assert ask(str(tmp_path), "/pods").status == 200
    endpoint.close()
    assert not os.path.exists(endpoint.path)


def test_the_socket_of_an_agent_that_was_killed_is_replaced(tmp_path: Path, loop: LoopThread) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(socket_path(str(tmp_path)))
        dead.listen()
    endpoint = LocalEndpoint(str(tmp_path), VIEWS, loop)
    endpoint.start()
    assert ask(str(tmp_path), "/pods").status == 200
    endpoint.close()


def test_closing_leaves_the_socket_of_another_alone(endpoint: LocalEndpoint) -> None:
    os.unlink(endpoint.path)
    Path(endpoint.path + ".keep").touch()  # so that the file system does not give the same inode again
    Path(endpoint.path).touch()
    endpoint.close()
    assert os.path.exists(endpoint.path)


def test_no_agent_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        LocalEndpointError, match=r"no agent runs on .* start one with `actorlet run`.* --root-dir: .*up"
    ):
        ask(str(tmp_path), "/pods")


def test_a_path_that_no_socket_can_have_is_told(tmp_path: Path, loop: LoopThread) -> None:
    with pytest.raises(LocalEndpointError, match="is longer than the 107 bytes of a socket"):
        LocalEndpoint(str(tmp_path / ("x" * 120)), {}, loop).start()
    with pytest.raises(LocalEndpointError, match="cannot be served: No such file or directory"):
        LocalEndpoint(str(tmp_path / "missing"), {}, loop).start()
