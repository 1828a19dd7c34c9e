"""What a program and its children do, read from the kernel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from runtime.host.family_effort import family_cpu_ns, family_wants_cpu

LOOKS = 100_000
BUSY = "print('it begins', flush=True)\nwhile True: pass"
SLEEPS = "import time; print('it begins', flush=True); time.sleep(600)"


@contextmanager
def child_of_a_program(text: str) -> Iterator[int]:
    """The id of a program whose child has begun to run the text."""
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {text!r}])"
    words = [sys.executable, "-c", parent]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline()
            yield process.pid
        finally:
            subprocess.run(["kill", "-9", "--", f"-{process.pid}"], check=True)


def test_a_child_that_is_busy_wants_a_core_and_uses_it() -> None:
    with child_of_a_program(BUSY) as leader:
        before_ns = family_cpu_ns(leader)
        assert family_wants_cpu(leader)
        assert any(family_cpu_ns(leader) > before_ns for _ in range(LOOKS))


def test_a_child_that_sleeps_wants_no_core() -> None:
    with child_of_a_program(SLEEPS) as leader:
        assert any(not family_wants_cpu(leader) for _ in range(LOOKS))


def test_a_program_that_is_gone_wants_nothing() -> None:
    with child_of_a_program(SLEEPS) as leader:
        pass
    assert (family_wants_cpu(leader), family_cpu_ns(leader)) == (False, 0)
