"""A webhook over HTTPS, on a thread of its own, that answers as a test says."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from simulation.apiserver.front.tls import Authority

Json = dict[str, Any]


class Hook:
    """`asked` has the requests of all reviews.

    `answer`: request -> response, or None for an answer that never comes.
    """

    def __init__(self, directory: Path, wall_ns: int, host: str) -> None:
        self.asked: list[Json] = []
        self.answer: Callable[[Json], Json | None] = lambda request: {"allowed": True}
        self._released = threading.Event()
        authority = Authority(wall_ns)
        self.bundle = base64.b64encode(authority.certificate.encode()).decode()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                hook.asked.append(review["request"])
                response = hook.answer(review["request"])
                if response is None:
                    hook._released.wait()
                    return
                response = {"uid": review["request"]["uid"], **response}
                body = json.dumps({**review, "request": None, "response": response}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = authority.server_context(directory / "hook", host)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def patch_of(*operations: Json) -> Json:
    """A response that changes the object."""
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": text}
