"""A link between a machine of user-mode Linux and this host, and an API server at the other end of it.

The server is the embedded one, in this process. So it outlives the machine, and it is away while `cut`.

    with link() as wire, machine(root, link=wire.name) as one:
        server = OutsideServer(one, wire)

One link at a time: a second session waits for the first.
"""

from __future__ import annotations

import fcntl
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from cli.simulated.embedded_api import ApiServerOptions, EmbeddedApi, embedded_api
from tests.machine.api_server import KUBECONFIG, EmbeddedServer, RefusedError
from tests.machine.inside.control_plane import NODE
from tests.machine.machine import Machine
from tests.machine.root import CACHE

NAME = "actorlet-uml0"
HERE, THERE = "10.78.0.1", "10.78.0.2"
PORT = 6443
ANSWER_S = 120
_UNIT = f"""[Unit]
DefaultDependencies=no
After=systemd-udevd.service
Before=network.target actorlet.service kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'ip address add {THERE}/30 dev vec0; ip link set vec0 up; ip route add default via {HERE}'

[Install]
WantedBy=multi-user.target
"""


class Wire:
    """`serve` forwards connections from the machine to a port of this host, unless it is cut."""

    name = NAME

    def __init__(self) -> None:
        self._is_cut = threading.Event()
        self._open: set[socket.socket] = set()
        self._listening = socket.create_server((HERE, PORT))
        self._to = 0

    def serve(self, port: int) -> None:
        self._to = port
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Refuse connections, and end those that are open."""
        self._is_cut.set()
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._is_cut.clear()

    def close(self) -> None:
        self.cut()
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                theirs, _ = self._listening.accept()
                if self._is_cut.is_set():
                    theirs.close()
                    continue
                ours = socket.create_connection(("127.0.0.1", self._to))
                self._open |= {theirs, ours}
                for pair in ((theirs, ours), (ours, theirs)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while got := one.recv(65536):
                other.sendall(got)
        for each in (one, other):
            self._open.discard(each)
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def link() -> Iterator[Wire]:
    """See the module. Needs root."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock-link").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(subprocess.CalledProcessError):
            _ip("link", "delete", NAME)  # of a session that was killed: this one has the lock
        _ip("tuntap", "add", "dev", NAME, "mode", "tap")
        try:
            _ip("address", "add", f"{HERE}/30", "dev", NAME)
            _ip("link", "set", NAME, "up")
            wire = Wire()
            try:
                yield wire
            finally:
                wire.close()
        finally:
            # `tuntap del` fails while the killed machine lets go of it.
            _ip("link", "delete", NAME)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class OutsideServer(EmbeddedServer):
    """Serves from its making until `close`."""

    def __init__(self, machine: Machine, wire: Wire) -> None:
        super().__init__(machine)
        self._after = ExitStack()
        directory = machine.shared.parent
        options = ApiServerOptions(
            str(directory / "server"), str(directory / "admin.conf"), node_authorizer=True, nodes=(NODE,)
        )
        self._served: EmbeddedApi = self._after.enter_context(embedded_api(options))
        self._token = _token_in(Path(self._served.kubeconfig))
        wire.serve(int(self._served.url.rpartition(":")[2]))

    def begin(self) -> None:
        """Bring the machine's end up, now and at each boot, and put the node's kubeconfig at `KUBECONFIG`."""
        own = Path(self._served.node_kubeconfigs[NODE]).read_text()
        assert self._served.url in own
        # The server's certificate is for loopback.
        far = f"https://{HERE}:{PORT}\n    tls-server-name: localhost"
        self.machine.put(KUBECONFIG, own.replace(self._served.url, far))
        self.machine.put("/etc/systemd/system/uplink.service", _UNIT)
        self.machine.run("systemctl daemon-reload; systemctl enable --now uplink")

    def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, kind: str = "application/json"
    ) -> dict[str, Any]:
        """The same, without the machine."""
        sent = Request(self._served.url + path, method=method, data=None if body is None else json.dumps(body).encode())
        sent.add_header("Content-Type", kind)
        sent.add_header("Authorization", f"Bearer {self._token}")
        trusted = ssl.create_default_context(cafile=self._served.authority)
        try:
            with urlopen(sent, context=trusted, timeout=ANSWER_S) as answer:
                found: dict[str, Any] = json.loads(answer.read() or b"null")
                return found
        except HTTPError as refused:
            raise RefusedError(f"{method} {path}: {refused.code}: {refused.read().decode()}") from None

    def close(self) -> None:
        self._after.close()


def _token_in(kubeconfig: Path) -> str:
    words = kubeconfig.read_text().replace('"', " ").replace(":", " ").split()
    return words[words.index("token") + 1]
