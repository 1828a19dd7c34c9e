"""`actorlet simulate --report`: what the page of a run holds, and what it never lets through."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cli.simulate.command import main
from cli.simulate.report_page import page
from cli.simulate.run_story import PodStory, Story, played_story
from simulation.play.play import Play
from simulation.play.saved_run import read_saved_run
from simulation.scenarios.scenario import read_scenario
from simulation.world.chronicle import Violation
from tests.attacks.words import WORDS, raw_characters

SHOP = """
about: a shop that is <too> slow
nodes: 2
pods: [{name: shop, count: 3, arrives: [0s, 5s], startsWithin: 1ms}]
faults: [{fault: agent-kills, at: [8s]}, {fault: runtime-calls, verb: StartContainer, fail: 0.3}]
lasts: 20s
"""
PLAIN_TAGS = {"html", "head", "meta", "title", "style", "script", "body", "h1", "h2", "h3", "p", "div", "span", "i"}
PLAIN_TAGS |= {
    "svg",
    "line",
    "rect",
    "text",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "label",
    "input",
    "pre",
    "a",
    "main",
}
EVIL = f"<script>alert(1)</script>\"'&{WORDS}"


class Seen(HTMLParser):
    """Tags with their attributes, and the text of cells by table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: dict[str, list[str]] = {}
        self._table, self._in_cell = "", False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self._table = dict(attrs)["id"] or ""
        if tag == "td":
            self.cells.setdefault(self._table, []).append("")
        self._in_cell = tag == "td"

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.cells[self._table][-1] += data


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(SHOP)
    return "shop.yaml"


def test_the_page_tells_of_the_first_failure_as_it_was_saved(shop: str, capsys: pytest.CaptureFixture[str]):
    assert main([shop, "--seeds", "3..4", "--jobs", "1", "--json", "--quiet", "--report", "run.html"]) == 1
    said = capsys.readouterr()
    saved = read_saved_run(Path("shop-seed-3.failed.yaml").read_bytes())
    assert f"actorlet simulate: run.html shows seed {saved.seed}\n" in said.err
    text = Path("run.html").read_text()
    seen = Seen(text)
    assert "a shop that is &lt;too&gt; slow" in text
    assert "the smallest run found that breaks starts-in-time as seed 3 did, with 3 pods on 2 nodes" in text
    assert [each for each in seen.cells["pods"] if each.startswith("shop")] == ["shop-0"], "one pod is left"
    assert "starts-in-time" in seen.cells["violations"]


def test_the_page_of_a_whole_run_has_pods_faults_calls_and_messages():
    text = page(played_story(read_scenario(SHOP.encode()), 3, to_end), "shop.yaml")
    seen = Seen(text)
    assert {"shop-0", "shop-1", "shop-2", "node-0", "node-1"} <= set(seen.cells["pods"])
    assert {"kills the agent of node-0", "is healed"} <= set(seen.cells["faults"])
    assert any(
        "failed StartContainer" in each or "StartContainer of default/shop" in each for each in seen.cells["calls"]
    )
    assert {"/node/sync-loop", "PodWorker", "/node/sync-loop/*", "StatusManagerActor"} <= set(seen.cells["messages"])
    (timeline,) = [found for tag, found in seen.tags if tag == "svg"]
    assert (timeline["role"], "5 pods" in (timeline["aria-label"] or "")) == ("img", True)
    assert re.search(r'<text class="name"[^>]*>kills the agent of node-0</text>', text), "faults stand on their lines"


def to_end(begin: Callable[[], Play]) -> Play:
    play = begin()
    while not play.done:
        play.advance(10**9)
    return play


def test_broken_pods_are_marked_and_linked_from_what_is_broken():
    pods = {name: PodStory(name, [(0, "Pending")]) for name in ("web-1", "web-10", "web-2")}
    story = Story("two are late", 1, 1, end_ns=10, pods=pods)
    story.violations.append(Violation("starts-in-time", 4, "pod default/web-10 took 3 s"))
    text = page(story, "late")
    assert 'default/<a href="#pod-1">web-10</a> took 3 s' in text
    assert '<tr id="pod-1" class="bad"><td>web-10</td>' in text
    assert text.count('class="bad" x=') == 1, "web-1 and web-2 are well"
    first = re.search(r"<text[^>]*text-anchor=\"end\">([^<]*)<", text)
    assert first is not None
    assert first[1] == "web-10", "the broken are drawn first"


def test_the_page_loads_nothing_from_elsewhere(shop: str):
    main([shop, "--seed", "3", "--quiet", "--report", "run.html"])
    text = Path("run.html").read_text()
    asked = ("src", "action", "data", "srcset", "poster")
    assert not [found for _, found in Seen(text).tags if any(name in found for name in asked)]
    links = [found["href"] for _, found in Seen(text).tags if "href" in found]
    assert links
    assert all((link or "").startswith("#pod-") for link in links)
    assert not re.search(r"url\(|@import|https?:", text)


def test_no_text_of_a_run_becomes_part_of_the_page():
    pods = {"1": PodStory(EVIL, [(0, "Pending"), (5, EVIL)], node=EVIL)}
    story = Story(EVIL, 1, 1, end_ns=10, pods=pods, faults=[(3, EVIL)], last_lines=(f"7 {EVIL}",))
    story.failed_calls[EVIL] += 1
    story.sent[EVIL, EVIL, EVIL] += 1
    story.violations.append(Violation(EVIL, 4, EVIL))
    text = page(story, EVIL)
    assert text.count("<script") == 1
    assert "alert(1)" in text
    assert not raw_characters(text)
    names = {tag for tag, _ in Seen(text).tags}
    assert names <= PLAIN_TAGS
    assert not [found for _, found in Seen(text).tags if any(name.startswith("on") for name in found)]


def test_many_pods_are_drawn_up_to_a_number_that_the_page_tells():
    pods = {str(number): PodStory(f"web-{number}", [(number, "Ready")]) for number in range(150)}
    text = page(Story("many", 1, 1, end_ns=1000, pods=pods), "many")
    assert "The first 100 of 150 pods are drawn." in text
    assert len(Seen(text).cells["pods"]) == 150 * 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--report", "/no/such/directory/run.html"], "/no/such/directory: No such file or directory"),
        (["--report", "/"], "/ is a directory; write the name of a file"),
        (["--kill-everywhere", "--report", "run.html"], "--report shows one run"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_played(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
