"""The offline list of advisories, and how it answers. `tox -e audit` runs `pip-audit` on it."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.request import Request, urlopen

import pytest

from tests.packaging.advisories import (
    ADVISORIES,
    LOCK,
    Advisory,
    advisories,
    advisory_of,
    file_text,
    locked,
    osv_answer,
)
from tests.packaging.audit import refreshed, serving

PARSER = Advisory("h11", "CVE-2025-43859", fixed=("0.16.0",))
BRANCHES = Advisory("web", "X-1", introduced="2.0", fixed=("2.4.1", "3.1"))
UNFIXED = Advisory("web", "X-2")


@pytest.mark.parametrize(
    ("advisory", "version", "affected"),
    [
        (PARSER, "0.14.0", True),
        (PARSER, "0.16.0", False),
        (PARSER, "0.16.0rc1", True),
        (BRANCHES, "1.9", False),
        (BRANCHES, "2.0", True),
        (BRANCHES, "3.0", True),
        (BRANCHES, "2.4.1", True),  # better one look too many
        (BRANCHES, "3.1.1", False),
        (UNFIXED, "99", True),
    ],
)
def test_which_releases_an_advisory_means(advisory: Advisory, version: str, affected: bool) -> None:
    assert advisory.affects(version) is affected


def test_the_file_is_as_a_refresh_writes_it() -> None:
    text = ADVISORIES.read_text()
    assert file_text(advisories(), json.loads(text)["taken"]) == text


def test_a_server_on_loopback_answers_as_osv_does() -> None:
    with serving((PARSER, BRANCHES)) as address:

        def asked(name: str, version: str) -> dict:
            query = {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
            with urlopen(Request(address, json.dumps(query).encode())) as answer:
                return json.load(answer)

        assert [each["id"] for each in asked("H11", "0.9")["vulns"]] == ["CVE-2025-43859"]
        assert asked("h11", "0.16.0") == {}
        assert asked("unheard-of", "1") == {}
    assert osv_answer((), {"package": {"name": "h11"}, "version": "0.9"}) == {}


def test_a_refresh_adds_what_pypi_says_and_keeps_the_rest() -> None:
    pages = {
        "/pypi/web/2.1/json": [
            {"id": "X-1", "aliases": ["ANY"], "fixed_in": ["9"]},
            {"id": "X-3", "aliases": ["CVE-1"], "fixed_in": ["2.2"]},
            {"id": "X-4", "fixed_in": [], "withdrawn": "2024-01-01T00:00:00Z"},
        ]
    }

    class Pypi(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"info": {}, "vulnerabilities": pages[self.path]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Pypi) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        found = refreshed((BRANCHES, PARSER), {"web": "2.1"}, f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
    assert found == (BRANCHES, PARSER, Advisory("web", "X-3", ("CVE-1",), fixed=("2.2",)))
    text = file_text(found, "2030-01-01")
    assert {advisory_of(each) for each in json.loads(text)["advisories"]} == set(found)


def test_no_locked_release_has_a_known_fault() -> None:
    pins = locked(LOCK.read_text())
    found = [f"{each.package} {each.id}" for each in advisories() if each.affects(pins.get(each.package, "99999"))]
    assert found == []
