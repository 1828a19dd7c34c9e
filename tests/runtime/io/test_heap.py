"""The memory of a burst is given back, although some of its objects stay alive between the others.

Full passes of the garbage collector are few while the heap grows, and what waits in rings is found afterwards.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from runtime.io.heap import WORTH_IT_BYTES, Ebb, FullPasses

MIB = 2**20
BURST = """
from runtime.io.heap import AFTERWARDS, HeapKeeper, share_one_heap
from tests.process_memory import resident_bytes

share_one_heap()
keeper = HeapKeeper()
before = resident_bytes()
objects = [str(number) * 20 for number in range(500_000)]
assert not keeper.look(), "nothing has gone yet"
at_most = resident_bytes() - before
survivors = objects[::2_000]
del objects
assert keeper.look(), "much has gone"
print(at_most, resident_bytes() - before)
assert [keeper.look() for _ in range(AFTERWARDS + 1)] == [True] * AFTERWARDS + [False], "nothing has gone since"
"""


def test_pages_on_which_nothing_lives_go_back_to_the_machine():
    at_most, stays = (int(each) for each in printed(BURST, PYTHONMALLOC="malloc").split())
    assert at_most > 64 * MIB
    assert stays < at_most / 4


def test_the_agent_allocates_from_the_c_library_and_heeds_no_other_variable_of_python():
    told = {"PYTHONMALLOC": "debug", "PYTHONHASHSEED": "1", "PYTHONPATH": "elsewhere", "KEPT": "yes"}
    became = (
        "import os, sys, actorlet._process as p;"
        "told = lambda words, env: print(words[1:3], *(f'{n}={v}' for n, v in env.items()), sep='\\n');"
        "os.execve = lambda path, words, env: sys.exit(told(words, env));"
        "p.become('cli.main', 'run', '--config=x')"
    )
    flags, *environment = printed(became, **told).splitlines()
    assert flags == "['-s', '-P']"
    assert [each for each in environment if each.startswith("PYTHON")] == ["PYTHONMALLOC=malloc"]
    assert "KEPT=yes" in environment


def test_other_commands_are_isolated():
    became = (
        "import os, sys, actorlet._process as p;"
        "os.execv = lambda path, words: sys.exit(print(words[1]));"
        "p.become('cli.main', 'pods')"
    )
    assert printed(became).strip() == "-I"


def test_an_ebb_is_a_fall_from_the_highest_and_comes_once():
    ebb = Ebb()
    assert not ebb.has_come(100 * MIB)
    assert not ebb.has_come(120 * MIB)
    assert not ebb.has_come(120 * MIB - WORTH_IT_BYTES + 1)
    assert ebb.has_come(120 * MIB - WORTH_IT_BYTES)
    assert not ebb.has_come(120 * MIB - WORTH_IT_BYTES)


GROWTH = """
import gc
from runtime.io.heap import HeapKeeper, collect_seldom

collect_seldom()
keeper = HeapKeeper()
full = []
gc.callbacks.append(lambda phase, info: full.append(1) if (phase, info["generation"]) == ("stop", 2) else None)
objects = []
for number in range(40):
    objects += [[str(each) * 20] for each in range(25_000)]
    keeper.look()
grown = len(full)
for number in range(25_000):  # each holds itself
    ring = [b"x" * 1_000]
    ring.append(ring)
    objects.append(ring)
del objects[-25_000:], ring
keeper.look(), keeper.look()
print(grown, len(full) - grown, gc.collect())
"""


def test_full_passes_are_few_while_the_heap_grows_and_one_follows():
    grown, afterwards, left = (int(each) for each in printed(GROWTH, PYTHONMALLOC="malloc").split())
    assert 2 <= grown <= 12, "forty looks, and the heap became some fifty times as large"
    assert afterwards >= 1
    assert left < 1_000


FEW_AND_LARGE = """
import gc
from runtime.io.heap import HeapKeeper, collect_seldom
from tests.process_memory import resident_bytes

collect_seldom()
keeper = HeapKeeper()
before = resident_bytes()
for number in range(50):  # each holds itself
    ring = [b"x" * 2_000_000]
    ring.append(ring)
del ring
at_most = resident_bytes() - before
keeper.look(), keeper.look()
print(at_most, resident_bytes() - before)
"""


def test_few_large_objects_in_rings_are_given_back_too():
    at_most, stays = (int(each) for each in printed(FEW_AND_LARGE, PYTHONMALLOC="malloc").split())
    assert at_most > 80 * MIB
    assert stays < at_most / 4


@pytest.mark.parametrize(
    ("use_mib", "young", "due"),
    [
        pytest.param((100, 110, 149), 9, (False, False, False), id="it grows"),
        pytest.param((100, 110, 150), 9, (False, False, True), id="it has grown by half"),
        pytest.param((100, 120, 120), 9, (False, False, True), id="it has ended to grow"),
        pytest.param((120, 90, 90), 9, (False, False, True), id="it has ended to fall"),
        pytest.param((100, 100, 100), 1, (False, False, False), id="there is nothing new"),
        pytest.param((150, 200, 200), 1, (False, False, True), id="few objects have made it grow"),
        pytest.param((150, 200, 203), 1, (False, False, True), id="and it goes on to move a little"),
        pytest.param((120, 80, 80), 1, (False, False, True), id="few objects have made it fall"),
    ],
)
def test_a_full_pass_is_due_when_it_may_find_something(use_mib: tuple[int, ...], young: int, due: tuple[bool, ...]):
    passes = FullPasses(after_pass=100 * MIB)
    assert tuple(passes.is_due(each * MIB, young) for each in use_mib) == due


def printed(program: str, **environment: str) -> str:
    """What a Python program prints that runs on its own, in the root of the project."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONMALLOC"}
    words = [sys.executable, "-B", "-c", program]
    ended = subprocess.run(words, check=False, capture_output=True, text=True, env={**inherited, **environment})
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
