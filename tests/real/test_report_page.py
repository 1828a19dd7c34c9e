"""The page of a simulated run in a browser: what a person sees, on a wide screen and on a phone.

Pictures are kept in `.artifacts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.simulate.report_page import page as written_page
from cli.simulate.run_story import played_story
from simulation.scenarios.scenario import read_scenario
from tests.cli.simulate.test_report_page import to_end
from tests.real.browser import Browser, browser
from tests.real.components import missing

PICTURES = Path(__file__).parents[2] / ".artifacts"
SHOP = """
about: a shop that is <b id=evil>too</b> slow
nodes: 2
pods:
  - {name: shop, count: 6, arrives: [0s, 10s], startsWithin: 1ms}
  - {name: till, count: 3, arrives: [0s, 5s], lives: [5s, 10s]}
faults: [{fault: agent-kills, at: [8s]}, {fault: runtime-calls, verb: StartContainer, fail: 0.3}]
lasts: 20s
"""
PARTS = ("violations", "timeline", "pods", "faults", "calls", "messages", "lines")


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Browser]:
    if "chromium" in missing():
        pytest.fail("chromium is missing here; run `apt-get install chromium` or `tox -e real`, which does it")
    with browser(tmp_path) as opened:
        yield opened


def test_a_person_sees_every_part_of_a_run_on_a_wide_screen_and_on_a_phone(page: Browser, tmp_path: Path) -> None:
    report = tmp_path / "run.html"
    report.write_text(written_page(played_story(read_scenario(SHOP.encode()), 3, to_end), "shop.yaml"))
    page.open(report.as_uri())
    page.until("document.readyState === 'complete'")
    heights = [page.says(f"document.getElementById('{part}').getBoundingClientRect().height") for part in PARTS]
    assert all(height > 10 for height in heights), dict(zip(PARTS, heights, strict=True))
    assert "a shop that is <b id=evil>too</b> slow" in page.text()
    assert page.says("document.getElementById('evil')") is None
    assert page.says("document.querySelectorAll('#timeline rect title').length") > 9
    assert page.says("document.querySelectorAll('#timeline text.name').length") > 1, "faults stand on their lines"
    page.says("document.querySelector('#violations a').click()")
    page.until("document.querySelector('tr:target') !== null && document.querySelector('tr:target').id[0] === 'p'")
    page.says("scrollTo(0, 0)")
    page.picture(PICTURES / "report-wide.png")
    assert page.faults_of_access() == []

    page.says(
        "(() => { const box = document.querySelector('input[data-of=pods]'); box.value = 'TILL-1';"
        " box.dispatchEvent(new Event('input')); })()"
    )
    shown = "[...document.getElementById('pods').tBodies[0].rows].filter(row => !row.hidden).length"
    assert page.says(shown) == 1

    page.resize(390, 844)
    assert page.says("document.documentElement.scrollWidth") <= 390
    wide = "[...document.querySelectorAll('.wide')].filter((each) => each.scrollWidth > each.clientWidth)"
    assert page.says(f"{wide}.map((each) => each.firstElementChild.id)") == ["timeline"], "it alone scrolls to the side"
    page.picture(PICTURES / "report-phone.png")
    page.dark()
    assert page.faults_of_access() == []
    assert page.says("performance.getEntriesByType('resource').length") == 0
    assert not page.messages
