"""The observer's page in a browser: what a person sees of a node in trouble.

Pictures are kept in `.artifacts`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

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
def watched(directory: Path) -> Iterator[Watched]:
    """A node with a few pods that are well, and its observer."""
    with ExitStack() as after:
        dispatcher = PoolDispatcher()
        after.callback(dispatcher.close)
        configuration = KubeletConfiguration(
            enable_server=False,
            cluster_dns=("10.0.0.10",),
            authentication=Authentication(webhook=WebhookAuthentication(enabled=False)),
            authorization=Authorization(mode="AlwaysAllow"),
        )
        settings = Settings(images=(IMAGE,))
        manifests = {f"{name}.yaml": text for name, text in WELL.items()}
        node = SimulatedNode(
            dispatcher, name="worker-7", manifests=manifests, settings=settings, configuration=configuration
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
