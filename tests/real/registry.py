"""A registry of images on loopback, for tests that pull; plain HTTP, as slow as a test wants it.

Images are pushed over the registry's own HTTP interface. A `Throttle` stands before the registry and lets through so
many bytes a second, none while it is stopped.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.real.images import MANIFEST_TYPE, Image
from tests.real.waiting import until

USER, PASSWORD = "ann", "word"
PASSWORD_HASH = "$2b$05$abcdefghijklmnopqrstuuQDoL5Sa/TtfS/XN4AY/jgq.HBbO1BTu"
AUTH = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
"""As it stands in a docker configuration."""

_CHUNK_BYTES = 16 * 1024


class Registry:
    """A running docker-registry; `address` is host:port.

    `private`: it serves nobody but `USER` with `PASSWORD`.
    """

    def __init__(self, directory: Path, *, private: bool = False) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self._headers = {"Authorization": f"Basic {AUTH}"} if private else {}
        directory.mkdir()
        config: dict[str, Any] = {
            "version": 0.1,
            "log": {"level": "warn"},
            "storage": {"filesystem": {"rootdirectory": str(directory / "data")}},
            "http": {"addr": self.address},
        }
        if private:
            (directory / "users").write_text(f"{USER}:{PASSWORD_HASH}\n")
            config["auth"] = {"htpasswd": {"realm": "test", "path": str(directory / "users")}}
        (directory / "config.yml").write_text(json.dumps(config))
        with (directory / "log").open("wb") as log:
            self.process = subprocess.Popen(
                ["docker-registry", "serve", str(directory / "config.yml")], stdout=log, stderr=subprocess.STDOUT
            )
        until(self._answers, 20, f"the registry does not answer, see {directory}/log")

    def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            return bool(self._ask("GET", "/v2/").status == 200)
        return False

    def _ask(self, method: str, path: str, data: bytes | None = None, kind: str = "application/octet-stream") -> Any:
        url = path if path.startswith("http") else f"http://{self.address}{path}"
        request = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": kind, **self._headers})
        return urllib.request.urlopen(request, timeout=120)

    def push(self, image: Image, repository: str, tag: str) -> str:
        """Push; the digest of the manifest is the answer."""
        for digest, blob in image.blobs.items():
            location = self._ask("POST", f"/v2/{repository}/blobs/uploads/", b"").headers["Location"]
            self._ask("PUT", f"{location}{'&' if '?' in location else '?'}digest={digest}", blob)
        self._ask("PUT", f"/v2/{repository}/manifests/{tag}", image.manifest, MANIFEST_TYPE)
        return image.digest

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(120)


class Throttle:
    """Forwards connections to `address` at `bytes_per_second` in all towards the client.

    `address` of its own. `port`: where it listens, such as that of one that was closed; 0 is any.
    """

    def __init__(self, address: str, bytes_per_second: int, port: int = 0) -> None:
        self.bytes_per_second = bytes_per_second
        self._target = address
        self._ended = threading.Event()
        self._pace = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._ended.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                host, port = self._target.split(":")
                server = socket.create_connection((host, int(port)))
                threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, paced: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                if paced:
                    with self._pace:
                        self._ended.wait(len(data) / self.bytes_per_second)
                if self._ended.is_set():
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
