"""The programs beside a cluster: what is told of one that ends, and that none is left."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import pytest

from runtime.io.event_loop import leave_to_others
from simulation.planes.binaries import PlaneError
from simulation.planes.programs import Programs, ending_of, reason_of

T = TypeVar("T")
WAIT = 120


def waited(doing: Awaitable[T]) -> T:
    async def run() -> T:
        async with asyncio.timeout(WAIT):
            return await doing

    return asyncio.run(run())


async def fault_of(*words: str, environment: dict[str, str] | None = None) -> str:
    programs = Programs()
    await programs.start([sys.executable, "-c", *words], environment or {})
    assert await programs.first_fault() == programs.fault()
    text = programs.fault()
    await programs.end()
    return text


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "import sys; print('Error: unknown flag'); sys.exit(3)",
            "with exit status 3; its last words:\nError: unknown flag",
        ),
        ("import sys; sys.stderr.write('no\\n'); sys.exit(1)", "with exit status 1; its last words:\nno"),
        ("pass", "with exit status 0 and said nothing"),
        ("import os; os.kill(os.getpid(), 9)", "by SIGKILL and said nothing"),
    ],
)
def test_a_program_that_ends_is_told_of_with_its_last_words(code: str, told: str):
    assert waited(fault_of(code)) == f"{os.path.basename(sys.executable)} has ended {told}"


def test_only_the_end_of_what_it_said_is_kept():
    text = waited(fault_of("print('x' * 100_000); print('the reason')"))
    assert text.endswith("\nthe reason")
    assert len(text) < 3000


def test_variables_of_ours_do_not_change_what_it_does():
    told = waited(fault_of("import os; print(sorted(os.environ))", environment={"ETCD_NAME": "x", "HOME": "/"}))
    assert "'HOME'" in told
    assert "ETCD_NAME" not in told


def test_a_program_that_cannot_begin_is_named(tmp_path: Path):
    with pytest.raises(PlaneError, match=f"{tmp_path}/etcd does not start: No such file or directory"):
        waited(Programs().start([str(tmp_path / "etcd")]))


def test_none_is_left_at_the_end(tmp_path: Path):
    """Each holds the FIFO open for as long as it lives."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    pipe = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    code = "import os, signal, sys; os.write(os.open(sys.argv[1], os.O_WRONLY), b'u'); signal.pause()"

    async def run() -> str:
        programs = Programs()
        for _ in range(2):
            await programs.start([sys.executable, "-c", code, str(fifo)])
        heard = b""
        while len(heard) < 2:
            await asyncio.to_thread(select.select, [pipe], [], [], WAIT)
            heard += os.read(pipe, 2)
        told = programs.fault()
        await programs.end()
        await programs.end()
        return told

    assert waited(run()) == ""
    assert select.select([pipe], [], [], WAIT)[0]
    assert os.read(pipe, 1) == b""
    os.close(pipe)


BEGINS_AGAIN = """
import os, signal, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
os.write(fd, b"x")
if os.fstat(fd).st_size < 3:
    sys.exit("panic: no answer\\n\\ngoroutine 1 [running]:\\nmain.main()")
signal.pause()
"""


def test_a_program_that_is_kept_begins_again_and_says_so(tmp_path: Path):
    begins = tmp_path / "begins"
    begins.write_bytes(b"")

    async def run() -> tuple[str, tuple[str, ...]]:
        programs = Programs()
        await programs.keep([sys.executable, "-c", BEGINS_AGAIN, str(begins)], {})
        while begins.stat().st_size < 3:
            await leave_to_others(0.01)
        told = programs.fault(), programs.ended()
        await programs.end()
        return told

    fault, [line] = waited(run())
    assert fault == ""
    name = os.path.basename(sys.executable)
    why = "the last time with exit status 1: panic: no answer"
    assert line == f"{name} has ended 2 times and was started again; {why}"


def test_a_program_that_never_lives_is_given_up(tmp_path: Path):
    async def run() -> str:
        programs = Programs()
        await programs.keep([sys.executable, "-c", "import sys; sys.exit('no flag')"], {})
        while not programs.fault():
            await leave_to_others(0.01)
        told = programs.fault()
        await programs.end()
        return told

    assert waited(run()).endswith("has ended with exit status 1; its last words:\nno flag")


def test_an_end_is_told_in_words():
    assert reason_of(3, b"one\ntwo\n\n") == "with exit status 3: two"
    assert reason_of(-9, b"") == "by SIGKILL, saying nothing"
    assert ending_of(2) == "with exit status 2"
    assert ending_of(-15) == "by SIGTERM"
