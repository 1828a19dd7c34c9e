"""Programs that the loop runs end, whatever they and their children do with the pipes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from runtime.io.programs import Limits, ProgramCutShortError, run_to_end, running

T = TypeVar("T")
WAIT = 120
ENDLESS = "import os\nwhile True: os.write(1, b'x' * 65536)"
PARENT_THAT_GOES = "import os, time\nif os.fork() == 0: time.sleep(600)\nelse: os.write(1, b'gone')"
CHILD_THAT_STAYS = """
import os, sys, time
if os.fork() == 0:
    os.open(sys.argv[1], os.O_WRONLY)
    os.write(1, b"x")
time.sleep(600)
"""


def waited(doing: Awaitable[T]) -> T:
    async def run() -> T:
        async with asyncio.timeout(WAIT):
            return await doing

    return asyncio.run(run())


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_errors_and_status_of_a_program_are_separate() -> None:
    async def run() -> tuple[bytes, bytes, int]:
        code = "import sys; print('out'); print(sys.argv[1], file=sys.stderr); sys.exit(3)"
        async with running([*python(code), "why"]) as program:
            return await program.output.read(), await program.complaints.read(), await program.status()

    assert waited(run()) == (b"out\n", b"why\n", 3)


def test_standard_error_can_be_part_of_the_output() -> None:
    async def run() -> tuple[bytes, bytes]:
        code = "import os; os.write(1, b'out,'); os.write(2, b'why')"
        async with running(python(code), merged=True) as program:
            return await program.output.read(), await program.complaints.read()

    assert waited(run()) == (b"out,why", b"")


def test_a_program_sees_only_the_environment_that_it_is_given() -> None:
    async def run() -> bytes:
        async with running(python("import os; print(os.environ['WHO'])"), {"WHO": "me"}) as program:
            return await program.output.read()

    assert waited(run()) == b"me\n"


def test_one_that_prints_without_end_is_ended_when_nobody_reads_any_more() -> None:
    async def run() -> int:
        async with running(python(ENDLESS)) as program:
            await program.output.readexactly(1)
            for _ in range(1000):  # the loop reads ahead until it has enough, and leaves the pipe full
                await asyncio.sleep(0)
        return await program.status()

    assert waited(run()) == -signal.SIGKILL


def test_a_child_that_holds_the_pipe_open_does_not_hold_up_the_caller() -> None:
    async def run() -> int:
        async with running(python(PARENT_THAT_GOES)) as program:
            await program.output.readexactly(4)
            return await program.status()

    assert waited(run()) == 0


def test_children_of_a_program_end_with_it(tmp_path: Path) -> None:
    """The child holds a fifo open for writing, so a reader sees the end of it when the child is gone."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(held, True)

    async def run() -> None:
        async with running([*python(CHILD_THAT_STAYS), str(fifo)]) as program:
            await program.output.readexactly(1)

    waited(run())
    assert os.read(held, 1) == b""
    os.close(held)


def test_a_missing_program_is_an_error() -> None:
    async def run() -> None:
        async with running(["/no/program"]):
            pass

    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        waited(run())
    assert len(os.listdir("/proc/self/fd")) == before


# --- run to the end -------------------------------------------------------------------------------------------------

LIMITS = Limits(seconds=WAIT, output_bytes=1000, complaint_bytes=10)
ESCAPED_CHILD = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    open(sys.argv[1], "w").write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read(): time.sleep(0.01)
os.write(1, b"here")
"""


def test_one_that_is_run_to_its_end_gives_all_it_printed_and_reads_what_it_is_fed() -> None:
    code = "import sys; print(sys.stdin.read()); print('0123456789 end', file=sys.stderr, end=''); sys.exit(3)"
    ended = waited(run_to_end(python(code), None, LIMITS, fed=b"a question"))
    assert (ended.output, ended.complaints, ended.status) == (b"a question\n", b"456789 end", 3)
    assert "question" not in repr(ended)


def test_a_program_that_ignores_large_input_is_not_waited_for() -> None:
    assert waited(run_to_end(python("print(1)"), None, LIMITS, fed=b"x" * 2**22)).output == b"1\n"


@pytest.mark.parametrize("stream", [1, 2])
def test_one_that_prints_too_much_or_never_ends_is_cut_short(stream: int) -> None:
    code = f"import os\nwhile True: os.write({stream}, b'x' * 65536)"
    limits = LIMITS if stream == 1 else msgspec.structs.replace(LIMITS, seconds=3.0)
    with pytest.raises(ProgramCutShortError, match="printed more than 1000 bytes" if stream == 1 else "within 3 s"):
        waited(run_to_end(python(code), None, limits))


def test_a_child_that_outlives_the_program_is_ended_and_not_waited_for() -> None:
    assert waited(run_to_end(python(PARENT_THAT_GOES), None, LIMITS)).output == b"gone"


def test_a_child_that_has_left_the_session_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    try:
        assert waited(run_to_end([*python(ESCAPED_CHILD), str(note)], None, LIMITS)).output == b"here"
    finally:
        os.kill(int(note.read_text()), signal.SIGKILL)
