"""A headless Chromium for one test, driven over its DevTools protocol.

It opens a page, evaluates, and takes a picture.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import importlib.util
import itertools
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from runtime.io.event_loop import LoopThread
from tests.real.waiting import until

PATIENCE_S = 120.0
WIDTH, HEIGHT = 1500, 950
PHONES_BELOW = 600
AXE = "axe-playwright-python==0.1.8"
"""Carries axe-core 4.12. Only that file is used, and no Playwright."""


class Browser:
    """One page. `messages`: what the page wrote to its console, errors among it."""

    def __init__(self, loop: LoopThread, address: str) -> None:
        self._loop = loop
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self.messages: list[str] = []
        self._run(self._connect(address))
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def call(self, method: str, **parameters: Any) -> Any:
        """A command of the protocol; its result."""
        return self._run(self._call(method, parameters))

    def open(self, url: str) -> None:
        """Returns when the page has begun to come."""
        told = self.call("Page.navigate", url=url)
        assert not told.get("errorText"), told

    def says(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def until(self, script: str, seconds: float = PATIENCE_S) -> None:
        """Wait until the expression is true."""
        until(lambda: self.says(script), seconds, lambda: f"{script}; the page shows {self.text()[:2000]}")

    def text(self) -> str:
        """What a person reads."""
        return str(self.says("document.body ? document.body.innerText : ''"))

    def picture(self, path: Path) -> None:
        """What a person sees, as a PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def dark(self) -> None:
        """From now on as for people who like it dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def light(self) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])

    def resize(self, width: int, height: int) -> None:
        """A narrow screen is that of a phone.

        A page must be open: one without a viewport stays wide on a phone.
        """
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < PHONES_BELOW}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.until(f"innerWidth === {width}")

    def faults_of_access(self) -> list[str]:
        """What axe-core finds: the rule, the element, and what is wrong with it."""
        self.says(f"{_axe()};0")
        told = self.says("axe.run(document).then((found) => JSON.stringify(found.violations))")
        return [
            f"{rule['id']}: {node['html']}: {node['failureSummary']}"
            for rule in json.loads(told)
            for node in rule["nodes"]
        ]

    def close(self) -> None:
        with contextlib.suppress(RuntimeError, TimeoutError):
            self._run(self._session.close())

    def _run(self, coroutine: Any) -> Any:
        return self._loop.submit(coroutine).result(PATIENCE_S)

    async def _connect(self, address: str) -> None:
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://{address}/json/list") as answer:
            pages = [each for each in await answer.json() if each["type"] == "page"]
        self._socket = await self._session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0)
        self._reading = asyncio.create_task(self._read())

    async def _call(self, method: str, parameters: dict[str, Any]) -> Any:
        number = next(self._numbers)
        self._answers[number] = answer = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        told = await asyncio.wait_for(answer, PATIENCE_S)
        assert "error" not in told, (method, told)
        return told["result"]

    async def _read(self) -> None:
        async for message in self._socket:
            told = json.loads(message.data)
            if "id" in told:
                self._answers.pop(told["id"]).set_result(told)
            elif told["method"] in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                self.messages.append(json.dumps(told["params"]))


def _axe() -> str:
    """The script of axe-core. To import its package would import Playwright."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or not found.submodule_search_locations:
        pytest.fail(f"axe-core is missing here; run `pip install --no-deps {AXE}` or `tox -e real`, which does it")
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text()


@contextmanager
def browser(directory: Path) -> Iterator[Browser]:
    """A browser without any state of an earlier one; it ends with the context."""
    profile = directory / "chromium"
    quiet = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    quiet += ["--disable-background-networking", "--disable-component-update", "--ignore-certificate-errors"]
    command = ["chromium", *quiet, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
    with (directory / "chromium.log").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        told = profile / "DevToolsActivePort"
        until(lambda: told.exists() and "\n" in told.read_text(), PATIENCE_S, "Chromium does not start")
        with contextlib.closing(LoopThread("browser")) as loop:
            page = Browser(loop, f"127.0.0.1:{told.read_text().split()[0]}")
            yield page
            page.close()
    finally:
        process.terminate()
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
