"""`python -m tools.recordings FOLDER [--to DIR]`: records the answers of a real kube-apiserver.

FOLDER holds `etcd` and `kube-apiserver`, as `setup-envtest` or a release has them. It starts a control plane of its own
in a private directory on loopback, and ends it. Each resource becomes one file of JSON lines in DIR: a script a line. A
new version of Kubernetes is a new recording: run it again, and read what the tests then say.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import shutil
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from runtime.io.event_loop import LoopThread, leave_to_others
from simulation.cluster.running_cluster import wall_ns
from simulation.planes.binaries import find_binaries
from simulation.planes.control_plane import ADMIN, ControlPlane
from tools.recordings.corpus import Resource, scripts_of, seeds
from tools.recordings.player import Answer, Request, Send, play
from tools.recordings.schema_values import Schemas
from tools.recordings.written import written_files, written_scripts

HERE = Path(__file__).resolve().parents[2] / "tests/recorded/api"
PLUGINS_LEARN_S = 0.3
"""Longer than the watches of plugins are late."""


def main() -> int:
    about = "record what a kube-apiserver answers"
    parser = argparse.ArgumentParser(prog="python -m tools.recordings", description=about)
    parser.add_argument("folder", help="with `etcd` and `kube-apiserver`")
    parser.add_argument("--to", type=Path, default=HERE, help="default: tests/recorded/api")
    parser.add_argument("--only", default="", help="only resources whose name has this in it")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    directory = tempfile.mkdtemp(prefix="recordings-")
    loop = LoopThread()
    found = find_binaries(options.folder)._replace(controller_manager="", scheduler="")
    plane = ControlPlane(found, directory, wall_ns(), scheduler=False, accounts=True)
    try:
        loop.submit(plane.begin()).result()
        with _sender(plane, Path(directory)) as send:
            _record(send, options.to, options.only)
            _record_written(send, partial(_wait, loop), options.to, options.only)
    finally:
        loop.submit(plane.end()).result()
        shutil.rmtree(directory, ignore_errors=True)
    return 0


def _record(send: Send, to: Path, only: str) -> None:
    known = seeds(_certificate_request())
    pairs = 0
    for resource in _resources(send):
        if resource.name not in known or only not in resource.name:
            continue
        place = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
        schemas = Schemas(send(Request("GET", f"/openapi/v3/{place}")).body)
        lines = []
        for script in scripts_of(resource, known[resource.name], schemas):
            answered = msgspec.structs.replace(script, answers=play(script, send))
            lines.append(msgspec.json.encode(answered))
            pairs += len(answered.answers)
        (to / f"{resource.name.replace('/', '_')}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        print(f"{pairs:6} {resource.name}", flush=True)


def _record_written(send: Send, wait: Callable[[], object], to: Path, only: str) -> None:
    """Record the scripts that are written by hand.

    `wait` comes before each request, since plugins learn of objects late.
    """

    def send_slowly(request: Request) -> Answer:
        wait()
        return send(request)

    for name, path in written_files().items():
        if only in name:
            played = (msgspec.structs.replace(one, answers=play(one, send_slowly)) for one in written_scripts(path))
            (to / f"{name}.jsonl").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in played))
            print(f"       {name}", flush=True)


def _wait(loop: LoopThread) -> None:
    loop.submit(leave_to_others(PLUGINS_LEARN_S)).result()


def _resources(send: Send) -> Iterator[Resource]:
    """What the server serves, by discovery."""
    groups = send(Request("GET", "/apis")).body["groups"]
    places = [("", "v1"), *((each["name"], version["version"]) for each in groups for version in each["versions"])]
    for group, version in places:
        served = send(Request("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")).body["resources"]
        parts: dict[str, set[str]] = {}
        for each in served:
            plural, _, part = each["name"].partition("/")
            parts.setdefault(plural, set()).update({part} - {""})
        for each in served:
            if "/" not in each["name"]:
                yield Resource(
                    group,
                    version,
                    each["name"],
                    each["kind"],
                    each["namespaced"],
                    frozenset(each["verbs"]),
                    frozenset(parts[each["name"]]),
                )


def _sender(plane: ControlPlane, directory: Path) -> AbstractContextManager[Send]:
    """Sends as admin, on one connection."""
    context = ssl.create_default_context(cafile=plane.files.authority)
    context.load_cert_chain(plane.authority.client_file(directory, *ADMIN))
    return sender_to(plane.url, context)


@contextmanager
def sender_to(url: str, context: ssl.SSLContext | None) -> Iterator[Send]:
    """Sends to the server at that address, on one connection."""
    place = urlsplit(url)
    host, port = place.hostname or "", place.port
    line: http.client.HTTPConnection = (
        http.client.HTTPConnection(host, port)
        if context is None
        else http.client.HTTPSConnection(host, port, context=context)
    )

    def send(request: Request) -> Answer:
        path = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        body = None if request.body is None else msgspec.json.encode(request.body)
        headers = {"Accept": request.accept}
        if body is not None:
            headers["Content-Type"] = request.type
        line.request(request.method, path, body, headers)
        response = line.getresponse()
        text = response.read()
        warnings = tuple(response.headers.get_all("Warning") or ())
        return Answer(response.status, _value(text), warnings)

    try:
        yield send
    finally:
        line.close()


def _value(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text.decode(errors="replace")


def _certificate_request() -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "one")])
    made = x509.CertificateSigningRequestBuilder().subject_name(name)
    signed = made.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


if __name__ == "__main__":
    sys.exit(main())
