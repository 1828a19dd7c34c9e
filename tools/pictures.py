"""Makes the pictures of the README.

`actorlet up` in a terminal, and the observer's page of the same node.

    python -m tools.pictures        # writes docs/pictures/up.svg and docs/pictures/observer.webp; needs Chromium

Both are of the real thing: the command runs in a terminal of its own, on the simulated runtime, with the samples. The
SVG is its last screen. The page is opened by the link that it prints.
"""

from __future__ import annotations

import base64
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.real.browser import browser
from tests.real.waiting import until

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH, HEIGHT = 112, 30
PAGE = (1280, 800)
TITLE = "actorlet up"
PATIENCE_S = 120.0
LINK = re.compile(r"observer: ([^\s\x1b]+)")
FRAME = re.compile(r"(?:\x1b\[1A\x1b\[2K)+")
"""How a live table begins its next screen: up a line and clear it, for each line."""


class Terminal:
    """`actorlet up` in a terminal of its own. `transcript`: the file to which all goes that it writes."""

    def __init__(self, transcript: Path) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        command = [sys.executable, "-m", "actorlet", "up"]
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(WIDTH), "LINES": str(HEIGHT)}
        self._process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        with transcript.open("wb") as file:
            # A terminal that nobody reads holds the command up.
            self._reader = subprocess.Popen(["cat"], stdin=self._ours, stdout=file, stderr=subprocess.DEVNULL)
        self._transcript = transcript

    def screen(self) -> str:
        """The last screen that is whole."""
        screens = FRAME.split(self._transcript.read_text(errors="replace"))
        return screens[-2] if len(screens) > 1 else ""

    def close(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(PATIENCE_S)
        self._reader.kill()
        self._reader.wait()
        os.close(self._ours)


def as_svg(screen: str) -> str:
    """A screen with its colours."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    for line in screen.rstrip().replace("\r", "").split("\n"):
        console.print(Text.from_ansi(line), no_wrap=True, overflow="crop")
    return console.export_svg(title=TITLE)


def main() -> None:
    """Write both pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="actorlet-pictures-") as directory:
        terminal = Terminal(Path(directory) / "transcript")
        try:
            until(lambda: "CrashLoopBackOff" in terminal.screen(), PATIENCE_S, terminal.screen)
            link = LINK.search(terminal.screen())
            assert link is not None, terminal.screen()
            with browser(Path(directory)) as page:
                page.open(link[1])
                page.until("!!document.body && document.body.innerText.includes('CrashLoopBackOff')")
                page.until("document.getElementById('story').innerText.includes('What to do')")
                page.resize(*PAGE)
                picture = page.call("Page.captureScreenshot", format="webp", quality=85)["data"]
                (PICTURES / "observer.webp").write_bytes(base64.b64decode(picture))
            until(lambda: "CrashLoopBackOff" in terminal.screen(), PATIENCE_S, terminal.screen)
            (PICTURES / "up.svg").write_text(as_svg(terminal.screen()))
        finally:
            terminal.close()


if __name__ == "__main__":
    main()
