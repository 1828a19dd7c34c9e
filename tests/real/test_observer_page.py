"""The observer's page in a browser: what a person sees of a node in trouble.

Pictures are kept in `.artifacts`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from actorlet._process import command
from actors.kernel import Actor, Message, PoolDispatcher, RestartStrategy, handles
from cli.run.node_server import NodeWindow, Serving, node_server
from config.kubelet import KubeletConfiguration
from config.kubelet.configuration import Authentication, Authorization, WebhookAuthentication
from runtime.http_server.node_server import Ports
from runtime.http_server.observer import LOOK_EVERY_SECONDS
from runtime.io.event_loop import LoopThread
from simulation.cri import Settings
from simulation.node.simulated_node import SimulatedNode
from tests.attacks.words import MARKUP, WORDS, raw_characters
from tests.config.values.test_harmless_text import CASES
from tests.real.browser import Browser, browser
from tests.real.components import missing
from tests.real.waiting import until
from tests.simulation.node.worlds import IMAGE, container, manifest

PICTURES = Path(__file__).parents[2] / ".artifacts"
TOKEN = "a-token-of-the-test"
WELL = {"well": manifest("well"), "other": manifest("other", [container("a"), container("b")])}
EVIL = manifest("evil", behaviour={"run-for": "50ms", "exit-code": "3", "termination-message": WORDS})
UNPULLED = manifest("unpulled", [container(image=f"x{WORDS}")])
LOOPS = manifest("loops", behaviour={"run-for": "50ms", "exit-code": "3"})
NOTHING_TOLD = KubeletConfiguration()
HASTY = RestartStrategy(
    name="hasty", budget=1, window_ns=10**12, initial_ns=10**6, max_ns=10**6, parked_retry_ns=10**13
)


class Fail(Message, frozen=True):
    """To the actor below."""


class Fails(Actor):
    """An actor that always fails."""

    @handles(Fail)
    def fail(self, _: Fail) -> None:
        raise RuntimeError("the disk has gone away")


@dataclass
class Watched:
    node: SimulatedNode
    link: str


@contextmanager
def watched(directory: Path, topology: str = "", told: KubeletConfiguration = NOTHING_TOLD) -> Iterator[Watched]:
    """A node with a few pods that are well, and its observer.

    `told`: its configuration, but for the servers.
    """
    with ExitStack() as after:
        dispatcher = PoolDispatcher()
        after.callback(dispatcher.close)
        configuration = msgspec.structs.replace(
            told,
            enable_server=False,
            cluster_dns=("10.0.0.10",),
            authentication=Authentication(webhook=WebhookAuthentication(enabled=False)),
            authorization=Authorization(mode="AlwaysAllow"),
        )
        settings = Settings(images=(IMAGE,))
        manifests = {f"{name}.yaml": text for name, text in WELL.items()}
        node = SimulatedNode(
            dispatcher,
            name="worker-7",
            manifests=manifests,
            settings=settings,
            configuration=configuration,
            topology=topology,
        )
        loop = after.enter_context(closing(LoopThread("observed")))
        serving = Serving("worker-7", configuration, str(directory), ("worker-7",), {}, root=str(directory))
        ports = Ports(None, None, None)
        server = node_server(serving, ports, NodeWindow(node.node), node.cri, node.host.log_files, None, loop)
        server.start()
        after.callback(server.close)
        node.start()
        after.callback(node.stop)
        yield Watched(node, server.observe(TOKEN))


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Browser]:
    gone = missing()
    if "chromium" in gone:
        pytest.fail("chromium is missing here; run `apt-get install chromium` or `tox -e real`, which does it")
    with browser(tmp_path) as opened:
        yield opened


def shows(text: str) -> str:
    return f"!!document.body && document.body.innerText.includes({text!r})"


def test_a_crash_loop_and_a_parked_actor_are_seen_without_a_reload(page: Browser, tmp_path: Path) -> None:
    assert 2 * LOOK_EVERY_SECONDS < 2, "what is looked for is sent twice in two seconds"
    with watched(tmp_path) as found:
        page.open(found.link)
        page.until(shows("2 of 2 well"))
        page.until(shows("source-file"))
        assert "worker-7" in page.text()
        page.picture(PICTURES / "observer-well.png")

        found.node.put_manifest("loops.yaml", LOOPS)
        system = found.node.node.system
        until_restarting(found.node)
        broken = system.spawn(Fails, name="broken", strategy=HASTY)
        broken.tell(Fail())
        broken.tell(Fail())
        broken.tell(Fail())
        page.until(f"{shows('CrashLoopBackOff')} && {shows('parked')}")
        page.until(shows("the disk has gone away"))
        page.until("document.getElementById('story').innerText.includes('back-off')")
        page.picture(PICTURES / "observer-troubled.png")
        page.dark()
        page.picture(PICTURES / "observer-dark.png")
        assert not [line for line in page.messages if '"error"' in line], page.messages


def until_restarting(node: SimulatedNode) -> None:
    """The pod has begun to crash."""

    def loops() -> bool:
        return any("CrashLoopBackOff" in str(pod.status) for pod in node.pods())

    until(loops, 30, "it does not crash")


NAME = "a-shop-with-a-rather-long-name-7d9fbc64c9-x2x4p"
WIDE, PHONE = (1280, 800), (390, 844)
SCROLLING = (
    "[document.scrollingElement, ...document.body.querySelectorAll('*')].filter((each) =>"
    " each === document.scrollingElement || /auto|scroll/.test(getComputedStyle(each).overflowY))"
    ".filter((each) => each.scrollHeight > each.clientHeight + 1).map((each) => each.tagName + each.id)"
)
TOP = "document.querySelector('{}').getBoundingClientRect().top"
AREAS = (
    "[...document.querySelectorAll('main > section')].map((each) => [each.id, each.getBoundingClientRect()])"
    ".map(([id, box]) => [id, box.width * Math.max(0, Math.min(innerHeight, box.bottom) - Math.max(0, box.top))])"
)


def test_the_story_has_the_most_room_and_begins_with_its_verdict(page: Browser, tmp_path: Path) -> None:
    with watched(tmp_path) as found:
        shows_trouble_in_a_crowd(page, found)
        page.resize(*WIDE)
        areas = dict(page.says(AREAS))
        assert max(areas, key=lambda each: areas[each]) == "story-box", areas
        first = page.says("document.getElementById('story').firstElementChild.innerText")
        assert first.startswith("container app: it ended with exit code 137"), first
        assert "What to do:" in first
        assert "The end of its log:\nconnecting\ngiving up" in first
        page.picture(PICTURES / "observer-story.png")
        for box in ("#actors-box", "#lanes"):
            assert page.says(TOP.format(box)) > page.says(TOP.format("#story-box"))


def test_a_phone_shows_everything_in_one_column_that_scrolls(page: Browser, tmp_path: Path) -> None:
    with watched(tmp_path) as found:
        shows_trouble_in_a_crowd(page, found)
        page.resize(*PHONE)
        assert page.says("document.documentElement.scrollWidth") == 390
        assert page.says(SCROLLING) == ["HTML"]
        cut = "[...document.querySelectorAll('main *')].filter((each) => each.getBoundingClientRect().right > 390)"
        assert page.says(f"{cut}.map((each) => each.outerHTML)") == []
        page.until("document.getElementById('pods').tBodies[0].rows.length < 10")
        assert page.says(TOP.format("#story-box")) < 844, "the story is seen without scrolling"
        page.picture(PICTURES / "observer-phone.png")
        page.says("document.querySelector('#pods tr.more button').click()")
        page.until(f"document.getElementById('pods').tBodies[0].rows.length === {len(found.node.pods())}")


def test_keys_choose_a_pod_and_stay_with_it(page: Browser, tmp_path: Path) -> None:
    with watched(tmp_path) as found:
        page.open(found.link)
        page.until(shows("2 of 2 well"))
        page.says("document.querySelectorAll('#pods button')[1].focus()")
        for kind in ("rawKeyDown", "char", "keyUp"):
            page.call(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13
            )
        page.until("document.querySelectorAll('#pods button')[1].ariaCurrent === 'true'")
        assert page.says("document.activeElement === document.querySelectorAll('#pods button')[1]")


def test_axe_finds_nothing_on_either_screen_light_or_dark(page: Browser, tmp_path: Path) -> None:
    with watched(tmp_path) as found:
        shows_trouble_in_a_crowd(page, found)
        for size in (WIDE, PHONE):
            page.resize(*size)
            for colours in (page.light, page.dark):
                colours()
                assert page.faults_of_access() == []


def shows_trouble_in_a_crowd(page: Browser, found: Watched) -> None:
    """Opens the page of many pods, two of which are in trouble, and of a parked actor."""
    behaviour = {
        "run-for": "50ms",
        "exit-code": "137",
        "output": "connecting\ngiving up",
        "termination-message": f"no route to {'db.' * 30}example",
    }
    found.node.put_manifest("shop.yaml", manifest(NAME, behaviour=behaviour))
    found.node.put_manifest("loops.yaml", LOOPS)
    for number in range(12):
        found.node.put_manifest(f"many-{number}.yaml", manifest(f"many-{number}"))
    broken = found.node.node.system.spawn(Fails, name="broken", strategy=HASTY)
    for _ in range(3):
        broken.tell(Fail())
    page.open(found.link)
    page.until(f"{shows('CrashLoopBackOff')} && {shows('parked')} && {shows('14 of 16 well')}")
    page.says(
        f"[...document.querySelectorAll('#pods button')].find((each) => each.innerText.includes({NAME!r})).click()"
    )
    page.until("document.getElementById('story').innerText.includes('it ended with exit code 137')")


def test_nobody_sees_anything_without_the_token(page: Browser, tmp_path: Path) -> None:
    with watched(tmp_path) as found:
        told = page.call("Page.navigate", url=found.link.replace(TOKEN, "another"))
        assert told.get("errorText") == "net::ERR_INVALID_AUTH_CREDENTIALS"
        assert "worker-7" not in page.text()


def test_words_of_pods_turn_hide_and_mark_up_nothing(page: Browser, tmp_path: Path) -> None:
    everything = (
        "document.title + document.documentElement.textContent + [...document.querySelectorAll('*')]"
        ".flatMap((each) => [...each.attributes].map((one) => one.value)).join('')"
    )
    with watched(tmp_path) as found:
        found.node.put_manifest("evil.yaml", EVIL)
        found.node.put_manifest("unpulled.yaml", UNPULLED)
        found.node.put_manifest("torn.yaml", f'{{"kind": {json.dumps(WORDS)}}}')
        page.open(found.link)
        page.until(shows("CrashLoopBackOff"))
        for name in ("evil", "unpulled"):
            uid = next(pod.metadata.uid for pod in found.node.pods() if pod.metadata.name.startswith(name))
            page.says(f"choose({uid!r}, true)")
            page.until("document.getElementById('story').innerText.includes('owned')")
            assert not raw_characters(page.says(everything))
            assert MARKUP in page.text()
        assert page.says("document.querySelectorAll('b, a').length") == 0
        for text, shown in CASES:
            assert page.says(f"harmless({json.dumps(text)})") == shown, "as harmless_text.py does it"


def test_the_slider_of_a_record_moves_all_panels_through_the_night(page: Browser, after: ExitStack) -> None:
    line = command("cli.main", "replay", str(Path(__file__).parents[2] / "examples" / "night"), "--observe")
    process = after.enter_context(subprocess.Popen(line, stdout=subprocess.PIPE, text=True))
    after.callback(process.terminate)
    assert process.stdout is not None
    page.open(process.stdout.readline().split()[-1])
    settled = "document.getElementById('link').innerText === 'recorded' && shownMoment === moment"
    restarts = "[...document.querySelectorAll('#pods tbody tr')].map((row) => row.cells[3].innerText).join()"
    page.until(shows("recorded"))
    page.until(f"{settled} && {restarts} === '0,1'")
    slider = "document.getElementById('moment')"
    page.says(f"{slider}.value = 600; {slider}.dispatchEvent(new Event('input'))")
    page.until(f"{settled} && {restarts} === '0,0'")
    page.until(shows("2026-09-25 03:00:00 UTC"))
    page.until("document.getElementById('story').innerText.includes('Container started')")
    page.picture(PICTURES / "observer-record.png")
    assert not [line for line in page.messages if '"error"' in line], page.messages
