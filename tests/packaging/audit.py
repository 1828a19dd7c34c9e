"""Look for known faults in the releases of `deploy/requirements.lock`, offline: `tox -e audit`.

`pip-audit` asks an OSV server. Here that server listens on loopback and knows `deploy/advisories.json`. First a release
with a known fault must be found, so that a broken audit cannot pass. Status 1: a fault was found.

`python -m tests.packaging.audit --refresh` adds to the file what PyPI says of the locked releases. It needs PyPI's JSON
pages and nothing else. Advisories that are there already stay, so that the file also knows releases of the past.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import URLError
from urllib.request import urlopen

from tests.packaging.advisories import ADVISORIES, LOCK, Advisory, advisories, file_text, locked, of_pypi, osv_answer

PYPI = "https://pypi.org"
KNOWN_FAULT = "aiohttp==3.9.1"


@contextmanager
def serving(held: tuple[Advisory, ...]) -> Iterator[str]:
    """An OSV server that knows these; its address for `--osv-url`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(osv_answer(held, asked)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/query"
        server.shutdown()


def audit(requirements: Path, osv_url: str, *more: str) -> subprocess.CompletedProcess[str]:
    """What `pip-audit` says of pinned requirements."""
    words = ("--vulnerability-service", "osv", "--osv-url", osv_url, "--disable-pip", "--strict", *more)
    line = [sys.executable, "-m", "pip_audit", *words, "--progress-spinner", "off", "--requirement", str(requirements)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def refreshed(held: tuple[Advisory, ...], pins: dict[str, str], pypi: str) -> tuple[Advisory, ...]:
    """`held`, and what PyPI says of the pinned releases. Raises URLError."""
    known = {(each.package, each.id): each for each in held}
    for package, version in pins.items():
        with urlopen(f"{pypi}/pypi/{package}/{version}/json", timeout=30) as answer:
            for each in of_pypi(package, json.load(answer)):
                known.setdefault((package, each.id), each)
    return tuple(known.values())


def main(arguments: list[str]) -> int:
    held = advisories()
    if arguments == ["--refresh"]:
        try:
            held = refreshed(held, locked(LOCK.read_text()), PYPI)
        except URLError as error:
            print(f"{PYPI} has no JSON pages for this machine ({error}); nothing is changed", file=sys.stderr)
            return 2
        ADVISORIES.write_text(file_text(held, datetime.now(UTC).date().isoformat()))
        return 0
    with serving(held) as osv_url, tempfile.TemporaryDirectory() as directory:
        faulty = Path(directory) / "faulty.txt"
        faulty.write_text(f"{KNOWN_FAULT}\n")
        proof = audit(faulty, osv_url, "--no-deps")
        if proof.returncode != 1 or "PYSEC-2024-24" not in proof.stdout:
            print(f"the audit does not find the known fault of {KNOWN_FAULT}:\n{proof.stdout}{proof.stderr}")
            return 2
        found = audit(LOCK, osv_url)
    print(found.stdout + found.stderr, end="")
    return found.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
