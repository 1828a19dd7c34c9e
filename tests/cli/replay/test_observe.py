"""The observer's page of a record: every part of it shows the moment that was asked for."""

from __future__ import annotations

import base64
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from actorlet._process import command
from actors.records.folder import RecordedRun, runs_in
from cli.recorded_runs import run_before
from cli.replay.command import main as replay

NIGHT = Path(__file__).parents[3] / "examples" / "night"
SECOND_MS = 1000
RESTARTED_MS = 629_440
"""When the tutorial's pod was restarted, since the beginning of its record."""
PATIENCE_S = 240.0


class Page:
    """What a browser gets there."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self._home = f"http://{parts.hostname}:{parts.port}"
        self.token = parts.password or ""

    def get(self, path: str, token: str | None = None) -> bytes:
        credentials = base64.b64encode(f"actorlet:{self.token if token is None else token}".encode()).decode()
        request = urllib.request.Request(f"{self._home}{path}", headers={"Authorization": f"Basic {credentials}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            data: bytes = answer.read()
            return data

    def json(self, path: str) -> Any:
        return msgspec.json.decode(self.get(path))

    def parts(self, at_ms: int) -> dict[str, Any]:
        told = self.json(f"/ui/moments/{at_ms}")
        assert told["whole"]
        parts: dict[str, Any] = told["parts"]
        return parts

    def refusal(self, path: str, token: str | None = None) -> int:
        with pytest.raises(urllib.error.HTTPError) as refused:
            self.get(path, token)
        refused.value.close()
        return refused.value.code


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    line = command("cli.main", "replay", str(NIGHT), "--observe")
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Page(process.stdout.readline().split()[-1])
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.close()
        assert process.wait(PATIENCE_S) == 0


@pytest.fixture(scope="module")
def began_ms(page: Page) -> int:
    span = page.json("/ui/record")
    assert span["to"] - span["from"] == 720 * SECOND_MS + 1
    assert span["runs"] == [[span["from"], span["to"]]]
    began: int = span["from"]
    return began


def pods(parts: dict[str, Any]) -> dict[str, Any]:
    return {part["name"]: part for key, part in parts.items() if key.startswith("pod/")}


@pytest.mark.parametrize("after_ms", [RESTARTED_MS + 60_000, RESTARTED_MS - 1000, RESTARTED_MS + 61_000, 60_000])
def test_pods_are_shown_as_they_were_whichever_way_the_slider_moves(page: Page, began_ms: int, after_ms: int):
    shop = pods(page.parts(began_ms + after_ms))["shop-node-7"]
    assert shop["status"] == "Running"
    assert shop["restarts"] == (1 if after_ms > RESTARTED_MS else 0)


def test_all_panels_show_the_moment(page: Page, began_ms: int):
    begin, later = page.parts(began_ms), page.parts(began_ms + 600_000)
    assert later["node"]["name"] == "node-7"
    assert later["condition/Ready"]["status"] == "True"
    key = "actor//node/status-manager"
    assert later[key]["handled"] > begin.get(key, {"handled": -1})["handled"]


def test_the_story_of_a_pod_ends_at_the_moment(page: Page, began_ms: int):
    uid = next(key for key, part in page.parts(began_ms + 60_000).items() if part.get("name") == "shop-node-7")

    def story(after_ms: int) -> str:
        return page.get(f"/ui/moments/{began_ms + after_ms}/pods/{uid.removeprefix('pod/')}").decode()

    assert "Liveness probe failed" in story(RESTARTED_MS + 1000)
    assert "Liveness probe failed" not in story(60_000)


def test_the_page_is_that_of_a_node_and_knows_that_it_shows_a_record(page: Page):
    assert b'<body class="of-record">' in page.get("/ui")
    assert b"openRecord" in page.get("/ui/record.js")


def test_others_are_refused(page: Page, began_ms: int):
    assert page.refusal("/ui/record", token="another") == 401
    assert page.refusal("/ui/nothing") == 404
    assert page.refusal("/pods") == 404
    assert page.refusal(f"/ui/moments/{began_ms}/pods/nobody") == 404
    assert page.refusal("/ui/moments/soon") == 404


def test_a_saved_failure_has_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "saved").touch()
    assert replay([str(tmp_path / "saved"), "--observe"]) == 2
    assert "--observe needs a record" in capsys.readouterr().err


def test_a_moment_belongs_to_the_last_agent_that_had_begun():
    (run,) = runs_in(str(NIGHT))
    began_ns = run.header.began_wall_ns
    later = RecordedRun(msgspec.structs.replace(run.header, began_wall_ns=began_ns + 10))
    for at_ns, found in ((began_ns - 1, run), (began_ns, run), (began_ns + 9, run), (began_ns + 10, later)):
        assert run_before([run, later], at_ns) is found
