"""Logs on containerd: those of a chatty container rotate and shrink, and no line is lost.

See spec 3.13.
"""

from __future__ import annotations

import contextlib
import gzip
import os
from pathlib import Path

from tests.real.agent import Agent
from tests.real.pods import Truth, container, pod

LINE = "line $i of many that are written here"
COUNTS = f"i=0; while :; do i=$((i+1)); echo {LINE}; test $((i % 50)) -eq 0 && sleep 0.05; done"
"""Some 40 KB a second, every line with its number."""


def log_directory(agent: Agent, name: str) -> Path:
    found = list(agent.pod_logs.glob(f"*_{name}-*/main"))
    assert len(found) == 1, found
    return found[0]


def names_in(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def text_of(path: Path) -> str:
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


def numbers(directory: Path) -> list[int]:
    """Of all lines that are there, oldest first. Read again where the files were moved meanwhile."""
    while True:
        names = names_in(directory)
        # A file is compressed under a passing name, and stays until that has its own.
        whole = [name for name in names if name.endswith(".gz") or f"{name}.gz" not in names]
        rotated = [name for name in whole if name != "0.log" and not name.endswith(".tmp")]
        with contextlib.suppress(FileNotFoundError):
            text = "".join(text_of(directory / name) for name in [*rotated, "0.log"])
            if names == names_in(directory):
                # The last line may be half written.
                return [int(line.split(" ")[4]) for line in text.split("\n")[:-1]]


def test_logs_of_a_chatty_container_are_rotated_without_loss_and_go_with_it(agent: Agent, truth: Truth) -> None:
    agent.configure(containerLogMaxSize="32Ki", containerLogMaxFiles=3, containerLogMonitorInterval="3s")
    manifest = agent.drop("chatty.json", pod("chatty", container(script=COUNTS)))
    agent.start()
    agent.await_running("chatty")
    directory = log_directory(agent, "chatty")
    before = truth.life("chatty").key

    def rotated_twice() -> bool:
        names = names_in(directory)
        return len(names) == 3 and names[1].endswith(".gz")

    agent.await_that(rotated_twice, "not rotated")
    newest = numbers(directory)
    assert newest == list(range(newest[0], newest[-1] + 1)), "every line is there, once"
    assert os.stat(directory / names_in(directory)[1]).st_mode == os.stat(directory / "0.log").st_mode
    links = agent.log_links()
    assert [os.readlink(link) for link in links] == [str(directory / "0.log")]

    def goes_on() -> bool:
        last = numbers(directory)[-1]
        return last > newest[-1] + 5000

    agent.await_that(goes_on, "the log does not go on")
    assert len(names_in(directory)) <= 4, "at most one more for a moment"
    later = numbers(directory)
    assert later == list(range(later[0], later[-1] + 1))
    # What an agent that was killed while it compressed leaves behind is tidied by the next one; the pod runs on.
    agent.kill()
    half = directory / "0.log.20200101-000000.tmp"
    half.write_bytes(b"half")
    agent.start()
    agent.await_that(lambda: not half.exists(), "the half file is still there")
    assert truth.life("chatty").key == before
    manifest.unlink()
    truth.await_none("chatty")
    agent.await_that(lambda: not directory.parent.exists(), "the logs have not gone with the pod")
    agent.await_that(lambda: not agent.log_links(), "the link has not gone")
