"""The local endpoint of an agent, for the user who runs it.

It speaks HTTP and JSON over a unix socket in the agent's root directory.

`LocalEndpoint` serves, `ask` reads. Views are callables that make a `Reply`. A view may wait, since a few threads run
them; one that fails gives status 500 and a sentence. Nothing can be changed through here. Only the owner may connect
(mode 0600), so there is no authentication.

A socket that nobody serves, left by an agent that was killed, is replaced. One that is served is not: two agents on one
root directory would undo each other's work.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aiohttp import web

from runtime.http_client import CannotConnectError, HttpError, HttpOrigin, dial
from runtime.io.daemon_threads import DaemonThreads
from runtime.io.event_loop import LoopThread

SOCKET_NAME = "actorlet.sock"
PATH_LIMIT_BYTES = 107
"""The limit of Linux for the address of a unix socket."""
VIEWS_AT_ONCE = 2
START_TIMEOUT_SECONDS = 10.0
LOG = logging.getLogger("actorlet.local-endpoint")


class LocalEndpointError(Exception):
    """The socket cannot be served or asked; the text says which, why and what to do."""


class RootDirectoryTakenError(LocalEndpointError):
    """Another agent serves this root directory."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a view: JSON, and an HTTP status other than 200 for bad news."""

    body: bytes
    status: int = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """The agent's answer, and its wall time (ns)."""

    body: bytes
    status: int
    wall_ns: int


View = Callable[[], Reply]
Question = Callable[[str], Reply]
"""A view that takes the rest of the path: `/explain/` gets `web` from `/explain/web`."""
Inquiry = Callable[[bytes], Reply]
"""A view that takes a document, which is posted. It changes nothing, either."""
_NONE: Mapping[str, Question] = {}
_NO_INQUIRIES: Mapping[str, Inquiry] = {}
DOCUMENT_BYTES_MAX = 1024 * 1024


def socket_path(root_directory: str) -> str:
    """The socket of the agent of this root directory."""
    return os.path.join(os.path.abspath(root_directory), SOCKET_NAME)


class LocalEndpoint:
    """Serves `views` and `questions` from `start` until `close`.

    `views` maps a path such as `/pods` to a view. `questions` are paths with an argument (`/explain/`), `inquiries`
    those with a document (`/what-if`).
    """

    def __init__(
        self,
        root_directory: str,
        views: Mapping[str, View],
        loop: LoopThread,
        questions: Mapping[str, Question] = _NONE,
        inquiries: Mapping[str, Inquiry] = _NO_INQUIRIES,
    ) -> None:
        self.path = socket_path(root_directory)
        self._views = dict(views)
        self._questions = dict(questions)
        self._inquiries = dict(inquiries)
        self._loop = loop
        self._threads = DaemonThreads(VIEWS_AT_ONCE, "local-endpoint")
        self._runner: web.AppRunner | None = None
        self._inode: int | None = None

    def start(self) -> None:
        """Start to serve. Raises LocalEndpointError."""
        bound = _bound_socket(self.path)
        self._inode = os.stat(self.path).st_ino
        try:
            self._loop.submit(self._serve(bound)).result(START_TIMEOUT_SECONDS)
        except BaseException:
            bound.close()
            self.close()
            raise

    def close(self) -> None:
        """Stop serving and remove the socket, unless another process has replaced it."""
        runner, self._runner = self._runner, None
        if runner is not None:
            with contextlib.suppress(RuntimeError, TimeoutError):
                self._loop.submit(runner.cleanup()).result(START_TIMEOUT_SECONDS)
        self._threads.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(OSError):
            if self._inode is not None and os.stat(self.path).st_ino == self._inode:
                os.unlink(self.path)

    async def _serve(self, bound: socket.socket) -> None:
        application = web.Application(client_max_size=DOCUMENT_BYTES_MAX)
        application.router.add_get("/{path:.*}", self._answer)
        application.router.add_post("/{path:.*}", self._answer_document)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, bound).start()

    async def _answer_document(self, request: web.Request) -> web.Response:
        inquiry = self._inquiries.get(request.path)
        if inquiry is None:
            return _response(_sentence(404, f"there is no {request.path} for a document"))
        return await self._viewed(request, partial(inquiry, await request.read()))

    async def _answer(self, request: web.Request) -> web.Response:
        view = self._view_at(request.path)
        if view is None:
            there = ", ".join(sorted([*self._views, *(f"{path}..." for path in self._questions)]))
            return _response(_sentence(404, f"there is no {request.path}; there are {there}"))
        return await self._viewed(request, view)

    async def _viewed(self, request: web.Request, view: View) -> web.Response:
        loop = asyncio.get_running_loop()
        try:
            return _response(await loop.run_in_executor(self._threads, view))
        except Exception as error:
            LOG.exception("%s cannot be shown", request.path)
            return _response(_sentence(500, f"{request.path} cannot be shown: {type(error).__name__}: {error}"))

    def _view_at(self, path: str) -> View | None:
        for prefix, question in self._questions.items():
            if path.startswith(prefix):
                return partial(question, path.removeprefix(prefix))
        return self._views.get(path)


def ask(root_directory: str, view: str, timeout_seconds: float = 10.0, document: bytes | None = None) -> Answer:
    """Ask the agent of this root directory for `view`, or what it says of a document.

    Blocks; raises LocalEndpointError when no agent answers.
    """
    path = socket_path(root_directory)
    try:
        return asyncio.run(_ask(path, view, timeout_seconds, document))
    except TimeoutError:
        raise LocalEndpointError(f"the agent at {path} has not answered within {timeout_seconds:g} s") from None
    except (HttpError, OSError) as error:
        cause = error.cause if isinstance(error, CannotConnectError) else error
        if isinstance(cause, FileNotFoundError | ConnectionRefusedError):
            raise LocalEndpointError(
                f"no agent runs on {root_directory} (nobody serves {path}); start one with `actorlet run` or "
                "`actorlet up --root-dir DIR`, or name the directory of one that runs with --root-dir: `actorlet up` "
                "shows its own as the folder of its kubeconfig"
            ) from None
        if isinstance(cause, PermissionError):
            raise LocalEndpointError(f"{path} belongs to another user; ask as the one who runs the agent") from None
        raise LocalEndpointError(f"the agent at {path} cannot be asked: {error}") from None


async def _ask(path: str, view: str, timeout_seconds: float, document: bytes | None) -> Answer:
    origin = HttpOrigin("localhost", socket_path=path)
    async with asyncio.timeout(timeout_seconds):
        connection = await dial(origin)
        try:
            method, length = ("GET", ()) if document is None else ("POST", (("Content-Length", str(len(document))),))
            response = await connection.ask(origin.request(method, view, length), document or b"")
            return Answer(await response.read(), response.status, time.time_ns())
        finally:
            connection.abort()


def _bound_socket(path: str) -> socket.socket:
    if len(os.fsencode(path)) > PATH_LIMIT_BYTES:
        raise LocalEndpointError(f"{path} is longer than the {PATH_LIMIT_BYTES} bytes of a socket; shorten the root")
    if _is_served(path):
        raise RootDirectoryTakenError(f"another agent runs on {os.path.dirname(path)}: it serves {path}; stop it first")
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        Path(path).unlink(missing_ok=True)
        # Before bind, so that others can never connect.
        os.fchmod(bound.fileno(), 0o600)
        bound.bind(path)
    except OSError as error:
        bound.close()
        raise LocalEndpointError(f"{path} cannot be served: {error.strerror}") from None
    return bound


def _is_served(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(1.0)
        try:
            knock.connect(path)
        except TimeoutError:
            return True
        except OSError:
            return False
        return True


def _sentence(status: int, text: str) -> Reply:
    return Reply(json.dumps({"error": text}).encode(), status)


def _response(reply: Reply) -> web.Response:
    return web.Response(body=reply.body, status=reply.status, content_type="application/json")
