"""The project's own lint rules find what they are for, and nothing else.

This repository keeps them.
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path, PurePosixPath

import pytest

from tests.lint.rules import (
    Module,
    caches,
    check_source,
    check_tree,
    citations,
    cycles,
    private_names,
    prose,
    rooms,
    shared_work,
)
from tests.lint.rules.__main__ import FOLDERS, ROOT, main
from tests.lint.rules.clock import ALLOWED


def found(path: str, source: str) -> list[str]:
    """The rules that speak, with their lines: `floor:1`."""
    return [f"{finding.rule}:{finding.line}" for finding in check_source(path, source)]


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        # Downwards and sidewards is fine, upwards is not.
        ("config/values/quantity.py", "from config.objects import Pod", []),
        ("config/values/quantity.py", "from runtime.cri import Cri", ["floor:1"]),
        ("runtime/logs/pod_files.py", "from config.objects import Pod", []),
        ("runtime/logs/pod_files.py", "import actors.kernel", ["floor:1"]),
        ("actors/pleg/pleg.py", "from runtime.cri import Cri\nfrom actors.kernel import Actor", []),
        ("actors/pleg/pleg.py", "from simulation.host import SimulatedHost", ["floor:1"]),
        ("simulation/host/host.py", "from actors.kernel import Dispatcher", []),
        ("simulation/host/host.py", "def f():\n    from cli.tables import x", ["floor:2"]),
        ("cli/up/command.py", "from simulation.cri import SimulatedCri\nimport config, runtime, actors", []),
        # A hidden import is one too.
        ("actors/pleg/pleg.py", "if TYPE_CHECKING:\n    from cli.main import main", ["floor:2"]),
        ("actors/pleg/pleg.py", "from . import storage", ["floor:1"]),
        # No floor may know what stands beside the house; what stands there may know every floor.
        ("cli/up/command.py", "from tests.actors import probes", ["floor:1"]),
        ("tests/cli/up/test_command.py", "from cli.up.command import main\nfrom tests.actors import probes", []),
        ("benchmarks/kernel.py", "from actors.kernel import Actor", []),
        # What users' processes import sees no floor, and no floor sees it.
        ("actorlet/testing.py", "import json, pytest\nfrom actorlet._process import command", []),
        ("actorlet/testing.py", "def f():\n    from simulation.cluster import orders", ["floor:2"]),
        ("actorlet/testing.py", "import msgspec", ["floor:1"]),
        ("actorlet/testing.py", "from . import _process", ["floor:1"]),
        ("cli/main.py", "from actorlet import __version__", ["floor:1"]),
        # A name that only begins alike is another one.
        ("config/values/quantity.py", "import runtimes", []),
        # The kernel is a house of its own.
        ("actors/kernel/cell.py", "import pykka, msgspec, threading\nfrom actors.kernel.mailbox import Mailbox", []),
        ("actors/kernel/cell.py", "from actors.messages import Message", ["floor:1", "room:1"]),
        ("actors/kernel/cell.py", "from config.quantity import parse_quantity", ["floor:1"]),
        ("actors/kernel/cell.py", "import aiohttp", ["floor:1"]),
        ("actors/kernel/lifecycle.py", "from actors.machines.table import StateTable", []),
        ("actors/machines/table.py", "import enum, msgspec\nfrom actors.machines import table", []),
        ("actors/machines/table.py", "from actors.kernel import Actor", ["floor:1", "room:1"]),
        ("actors/pleg/pleg.py", "from docs.generators import state_page", ["floor:1"]),
        ("runtime/cri/wire.py", "from tools import protos", ["floor:1"]),
    ],
)
def test_a_file_imports_from_its_own_floor_and_below(path: str, source: str, expected: list[str]) -> None:
    assert found(path, source) == expected


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        # A room imports itself and the rooms below it.
        ("actors/pod/worker.py", "from actors.pod.view import PodView\nfrom actors.start.mounts import x", []),
        ("actors/volumes/claims/rules.py", "from actors.volumes.state import x", []),
        # An upward import between the packages of a floor is found, hidden ones included.
        ("actors/start/mounts.py", "from actors.pod.view import PodView", ["room:1"]),
        ("actors/pod_status/phase.py", "def f():\n    import actors.sync.loop", ["room:2"]),
        ("config/values/quantity.py", "from config.pods.identity import x", ["room:1"]),
        ("simulation/apiserver/store/store.py", "from simulation.apiserver.pipeline.write import x", ["room:1"]),
        ("simulation/apiserver/verbs/write.py", "from simulation.apiserver.pipeline.write import x", []),
        ("simulation/apiserver/status.py", "from simulation.chance.chance import x", []),
        ("runtime/io/event_loop.py", "if TYPE_CHECKING:\n    from runtime.http_server.paths import x", ["room:2"]),
    ],
)
def test_imports_between_packages_run_one_way(path: str, source: str, expected: list[str]) -> None:
    assert found(path, source) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("actors/gadgets/plugin.py", 1),
        ("actors/pod/plugin.py", 0),
        ("tests/devices/plugin.py", 0),
        ("actors/__init__.py", 0),
    ],
)
def test_a_new_package_takes_its_place_in_the_order(path: str, expected: int) -> None:
    findings = list(rooms.check_all_have_a_place([Module(PurePosixPath(path), ast.parse(""))]))
    assert len(findings) == expected


def test_modules_that_import_each_other_are_found() -> None:
    modules = [
        Module(PurePosixPath(path), ast.parse(source))
        for path, source in {
            "actors/pod/a.py": "from actors.pod import b",
            "actors/pod/b.py": "if TYPE_CHECKING:\n    from actors.pod.c import C",
            "actors/pod/c.py": "def f():\n    import actors.pod.a",
            "actors/pod/d.py": "from actors.pod.a import x",
        }.items()
    ]
    (finding,) = cycles.check(modules)
    assert (finding.path, finding.rule) == ("actors/pod/a.py", "cycle")
    assert "actors.pod.a, actors.pod.b, actors.pod.c" in finding.why


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""No word of pods here."""\n# pods', []),
        ("class Cell:\n    size: int\n    '''Of a pod, say.'''", []),
        ("class PodCell: ...", ["kernel-words:1"]),
        ("def stop_pods(): ...", ["kernel-words:1"]),
        ("def stop(pod): ...", ["kernel-words:1"]),
        ("raise ValueError('no such container')", ["kernel-words:1"]),
        ("podium = tripod = describe = None", []),
    ],
)
def test_the_kernel_speaks_no_word_of_pods(source: str, expected: list[str]) -> None:
    assert found("actors/kernel/cell.py", source) == expected
    assert found("actors/pod_worker.py", source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import time", ["no-wall-clock:1"]),
        ("def f():\n    import time", ["no-wall-clock:2"]),
        ("from time import monotonic_ns", ["no-wall-clock:1"]),
        ("import random as dice", ["no-wall-clock:1"]),
        ("from random import Random", ["no-wall-clock:1"]),
        ("from uuid import uuid4", ["no-wall-clock:1"]),
        ("import secrets", ["no-wall-clock:1"]),
        ("import threading", ["no-wall-clock:1"]),
        ("from concurrent.futures import ThreadPoolExecutor", ["no-wall-clock:1"]),
        ("from concurrent.futures import Future", []),
        ("import os\nos.urandom(8)", ["no-wall-clock:2"]),
        ("from os import urandom", ["no-wall-clock:1"]),
        ("import os\nos.path.join('a', 'b')", []),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(1)", ["no-wall-clock:3"]),
        ("import datetime\ndatetime.datetime.now()", ["no-wall-clock:2"]),
        ("from datetime import datetime\nclock = datetime.now", ["no-wall-clock:2"]),
        ("import datetime as dt\ndt.datetime.utcnow()", ["no-wall-clock:2"]),
        ("from datetime import date\ndate.today()", ["no-wall-clock:2"]),
        # Dates as data are no clock, nor are other things of the same name.
        ("from datetime import UTC, datetime\ndatetime.fromtimestamp(0, UTC)", []),
        ("async def f(self):\n    await self.sleep(self.time.now())", []),
        ("self.random.choice(x)", []),
    ],
)
def test_time_chance_names_and_threads_come_from_the_dispatcher(source: str, expected: list[str]) -> None:
    for path in ("actors/pleg/pleg.py", "config/values/quantity.py", "simulation/host/host.py", "cli/up/command.py"):
        assert found(path, source) == expected
    for path in ("actors/kernel/pool_dispatcher.py", "runtime/event_loop.py", "benchmarks/kernel.py"):
        assert found(path, source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for x in {1, 2}: ...", ["set-order:1"]),
        ("for x in set(y): ...", ["set-order:1"]),
        ("for x in a - set(b): ...", ["set-order:1"]),
        ("[x for x in frozenset(y)]", ["set-order:1"]),
        ("z = {x: 1 for x in {y for y in w}}", ["set-order:1"]),
        ("list(set(y))", ["set-order:1"]),
        ("', '.join({'a', 'b'})", ["set-order:1"]),
        ("f(*{1, 2})", ["set-order:1"]),
        ("def f(names: set[str]):\n    for x in names: ...", ["set-order:2"]),
        ("def f(names: frozenset[str] = frozenset()):\n    return tuple(names)", ["set-order:2"]),
        ("def f():\n    seen = set()\n    for x in seen: ...", ["set-order:3"]),
        ("class A:\n    def f(self):\n        self.x: set[int] = set()\n        for y in self.x: ...", ["set-order:4"]),
        (
            "class A:\n    x: set[int]\n    def f(self):\n        due, self.x = self.x, set()\n        for y in due: 1",
            ["set-order:5"],
        ),
        (
            "class A:\n    x: set[int]\n    def f(self):\n        due = self.x\n        return list(due)",
            ["set-order:5"],
        ),
        ("def f():\n    a, b = set(), []\n    return list(a), list(b)", ["set-order:3"]),
        # What gives no order away.
        ("for x in sorted({1, 2}): ...", []),
        ("x = len({1}) + sum(set(y)) + max({2})", []),
        ("any(x for x in {1, 2})", []),
        ("sorted(x for x in set(y))", []),
        ("{x + 1 for x in {1, 2}}", []),
        ("x in {1, 2}", []),
        # What is no set, or only sometimes.
        ("for x in {1: 2}: ...", []),
        ("for x in (1, 2): ...", []),
        ("def f(names: list[str]):\n    for x in names: ...", []),
        ("def f(names):\n    names = set()\n    names = sorted(names)\n    for x in names: ...", []),
        ("def f():\n    x = set()\ndef g(x: list[int]):\n    for y in x: ...", []),
        ("def f(c):\n    a, *b = set(), *c\n    a = c\n    return list(a), list(b)", []),
        ("def f():\n    a, b = g()\n    return list(a)", []),
    ],
)
def test_nothing_depends_on_the_order_of_a_set(source: str, expected: list[str]) -> None:
    for path in ("actors/pleg/pleg.py", "config/values/quantity.py", "simulation/host/host.py", "runtime/pod_logs.py"):
        assert found(path, source) == expected
    assert found("actors/kernel/cell.py", source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import time\ntime.sleep(1)", ["no-sleep:2"]),
        ("from time import sleep", ["no-sleep:1"]),
        ("import time as t\nt.sleep(1)", ["no-sleep:2"]),
        ("import time\ntime.monotonic()", []),
        ("async def f(actor):\n    await actor.sleep(1)", []),
    ],
)
def test_tests_do_not_sleep_on_the_wall_clock(source: str, expected: list[str]) -> None:
    assert found("tests/actors/test_pleg.py", source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x):\n    return msgspec.json.decode(x, type=Note)", ["decoder-at-import:2"]),
        ("f = partial(msgspec.json.decode, type=tuple[Note, ...])", ["decoder-at-import:1"]),
        ("def f(x):\n    return msgspec.json.decode(x, type=dict[str, Any])", []),
        ("decode = msgspec.json.Decoder(Note).decode", []),
    ],
)
def test_structs_are_learned_while_their_module_is_imported(source: str, expected: list[str]) -> None:
    assert found("actors/pod/decided_ends.py", source) == expected
    assert found("cli/inspect/explain.py", source) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("actors/utils.py", ["names:1"]),
        ("runtime/pod_helpers.py", ["names:1"]),
        ("config/common/times.py", ["names:1"]),
        ("actors/manager2.py", ["names:1"]),
        ("actors/pod_worker_v2.py", ["names:1"]),
        ("actors/status_manager.py", []),
        ("runtime/cri/v1/api.py", []),
        ("config/base64.py", []),
        ("config/utilisation.py", []),
    ],
)
def test_files_are_named_for_what_is_inside(path: str, expected: list[str]) -> None:
    assert found(path, "") == expected


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("worker._life", [1]),
        ("world.node.cri._do(name)", [1]),
        ("class A(B):\n    def f(self):\n        return self._life, self.worker._life", [3]),
        ("def deaf(self: Worker):\n    return self._life", [2]),
        ("class A:\n    def __init__(self):\n        self._n = 1\n\ndef test():\n    assert A()._n == 1", []),
        ("def _made():\n    pass\n\nworlds._made", []),
        ("worker.__class__.__name__", []),
        ("os._exit(0)", []),
        ("setattr(worker, '_life', 1)", [1]),
        ("monkeypatch.setattr(Worker, '_meet', deaf)", [1]),
        ("monkeypatch.setattr('actors.pod.worker._meet', deaf)", [1]),
        ("monkeypatch.setattr(Worker, 'meet', deaf)", []),
        ("monkeypatch.setattr(Worker, '__init__', deaf)", []),
    ],
)
def test_tests_use_no_private_name_of_another_file(source: str, lines: list[int]) -> None:
    def breaches(path: str) -> list[int]:
        return [finding.line for finding in check_source(path, source, [private_names.check])]

    assert breaches("tests/actors/test_a.py") == lines
    assert breaches("actors/pod/a.py") == []


def test_a_replaced_method_is_found_by_its_comment() -> None:
    ignore = "# type: " + "ignore"
    source = f"a.call = call  {ignore}[method-assign]\nb = 1  {ignore}[misc]\nc = 'type: ignore[method-assign]'\n"
    assert private_names.method_assign_ignores(source) == [1]


def test_a_finding_says_file_line_rule_and_why() -> None:
    (finding,) = check_source("config/a.py", "\nimport runtime.cri")
    assert str(finding).startswith("config/a.py:2 floor: config/ (floor 1) may not know runtime.cri (floor 2); ")


def test_a_file_that_is_no_python_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/broken.py").write_text("def f(:\n")
    assert [finding.rule for finding in check_tree(tmp_path, ["config"])] == ["syntax"]


def test_this_repository_keeps_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().out
    assert all((ROOT / folder).is_dir() for folder in FOLDERS)


def test_exceptions_from_the_rules_are_still_needed() -> None:
    for path, module in ALLOWED:
        assert f"import {module}" in (ROOT / path).read_text()
    for path, name in caches.ALLOWED:
        module_there = Module(PurePosixPath(path), ast.parse((ROOT / path).read_text()))
        assert name in {each for _, each, _ in caches.found_in(module_there)}, (path, name)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from functools import lru_cache\n@lru_cache(maxsize=8)\ndef f(text: str) -> int: ...", ["cache-by-bytes:3"]),
        ("import functools as ft\n@ft.cache\ndef f(text: str) -> int: ...", ["cache-by-bytes:3"]),
        ("from functools import cache\n@cache\ndef f(*all: int) -> int: ...", ["cache-by-bytes:3"]),
        ("from functools import cache\n@cache\ndef f(it) -> int: ...", ["cache-by-bytes:3"]),
        ("from functools import cache\nread = cache(parse)", ["cache-by-bytes:2"]),
        ("from cachetools import LRUCache", ["cache-by-bytes:1"]),
        ("import cachetools.keys", ["cache-by-bytes:1"]),
        ("_KNOWN: dict[str, int] = {}", ["cache-by-bytes:1"]),
        ("_known = defaultdict(list)", ["cache-by-bytes:1"]),
        ("_seen: set[str] = set()", ["cache-by-bytes:1"]),
        # What is bounded by the program itself is fine.
        ("from functools import cache\n@cache\ndef f(kind: type[T], deep: bool, size: int = 1) -> int: ...", []),
        ("from functools import cache\n@cache\ndef the_one() -> int: ...", []),
        ("from config.caches import kept\n@kept(1024)\ndef f(text: str) -> int: ...", []),
        ("_NONE: Mapping[str, int] = {}\n_FEW = {'a': 1}\nJson = dict[str, int]", []),
        ("def f():\n    known: dict[str, int] = {}", []),
        ("from functools import partial, cached_property", []),
    ],
)
def test_a_cache_of_what_comes_from_outside_counts_bytes(source: str, expected: list[str]) -> None:
    assert found("actors/pod/plugin.py", source) == expected
    assert found("tests/actors/plugin.py", source) == []


def test_no_test_replaces_a_method_against_the_types() -> None:
    files = [path for path in (ROOT / "tests").rglob("*.py") if "lint" not in path.parts]
    found = [str(path) for path in files if private_names.method_assign_ignores(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("runtime/volumes/nfs.py", "def f(s):\n    subprocess.run(('mount', s, '/d'))", ["programs:2"]),
        ("runtime/volumes/nfs.py", "def f(s):\n    subprocess.run(('mount', '--', s, '/d'))", []),
        ("runtime/volumes/nfs.py", "from subprocess import Popen\ndef f(s):\n    Popen(['umount', s])", ["programs:3"]),
        (
            "runtime/volumes/nfs.py",
            "async def f(s):\n    await asyncio.create_subprocess_exec('fsck', s)",
            ["programs:2"],
        ),
        (
            "runtime/volumes/nfs.py",
            "def f(s):\n    os.execvp('mount', [s])\n    os.system(s)",
            ["programs:2", "programs:3"],
        ),
        ("runtime/volumes/nfs.py", "class A:\n    def f(self):\n        subprocess.check_output(x)", ["programs:3"]),
        # What tests run is their own affair, and not everything that is called `run` starts a program.
        ("tests/real/pods.py", "subprocess.run(x)", []),
        ("runtime/volumes/nfs.py", "def f(s):\n    asyncio.run(s)\n    commands.run(s)\n    run(s)", []),
    ],
)
def test_operands_of_a_program_stand_after_two_dashes(path: str, source: str, expected: list[str]) -> None:
    assert found(path, source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("print(name)", ["ways-out:1"]),
        ("walk(out=print)", ["ways-out:1"]),
        ("sys.stderr.write(name)", ["ways-out:1"]),
        ("traceback.print_exc()", ["ways-out:1"]),
        ("from rich.text import Text", ["ways-out:1"]),
        ("def f():\n    from rich.console import Console\n    Console().print(name)", ["ways-out:3"]),
        ("import logging\nlogging.StreamHandler(out)", ["ways-out:2"]),
        ("from html import escape\nescape(name)", ["ways-out:2"]),
        ("import html\nhtml.escape(name)", ["ways-out:2"]),
        # A type is no console, and not everything that is called `print` prints.
        ("from rich.console import Console\ndef f(out: Console) -> None:\n    out.print(shown(name))", []),
        ("say(name)\nfile.write(name)\nlogging.getLogger().addHandler(handler)\nre.escape(name)", []),
    ],
)
def test_words_from_outside_leave_through_the_doors(source: str, expected: list[str]) -> None:
    assert found("cli/up/x.py", source) == expected
    assert found("tests/cli/x.py", source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("os.makedirs(path, mode=0o750)", ["files:1"]),
        ("os.replace(a, b)", ["files:1"]),
        ("shutil.rmtree(path)", ["files:1"]),
        ("callback(shutil.rmtree, path)", ["files:1"]),
        ("for each in os.walk(path): ...", ["files:1"]),
        ("Path(path).write_bytes(key)", ["files:1"]),
        ("os.mkdir(name, 0o750, dir_fd=directory)", []),
        ("text.replace(a, b)", []),
        ("write_whole(path, key)", []),
    ],
)
def test_files_are_written_and_trees_removed_in_one_way(source: str, expected: list[str]) -> None:
    assert found("runtime/volumes/x.py", source) == expected
    assert found("tests/runtime/x.py", source) == []


_TEN = "one two three four five six seven eight nine ten"
_THIRTY = f"{_TEN} {_TEN} {_TEN}"


@pytest.mark.parametrize(
    ("docstring", "findings"),
    [
        (f"First line.\n\n{_TEN} {_TEN}\n{_TEN}.", 0),
        (f"First line.\n\n{_TEN} {_TEN}\n{_TEN} more.", 1),
        (f"First line.\n\n{_THIRTY}. {_THIRTY}! {_THIRTY}?", 0),
        (f"First line.\n\n{_THIRTY}; {_TEN}.", 1),
        # A point within a name, a number or an abbreviation ends no sentence.
        (f"First line.\n\n{_THIRTY} a.b.", 1),
        (f"First line.\n\n{_THIRTY}, e.g. so.", 1),
        (f"First line.\n\n{_THIRTY} (spec 1.2).", 1),
        # Code is one word, a dash is none.
        (f"First line.\n\n{_TEN} {_TEN} - - `{_THIRTY}`.", 0),
        # Items of a list are sentences of their own; a table, an example or a picture is none.
        (f"First line.\n\n- {_THIRTY}\n- {_THIRTY}\n1. {_TEN}\n   {_TEN} {_TEN}", 0),
        (f"First line.\n\n- {_THIRTY}\n  more", 1),
        (f"First line.\n\n    {_THIRTY} {_TEN}\n    {_TEN}\n\nLast line.", 0),
        (f"First line.\n\n| {_THIRTY} | {_TEN} |", 0),
        ("x" * 100, 0),
        ("x" * 101, 1),
        ("First line.\n\n" + "x" * 101, 0),
    ],
)
def test_docstrings_have_short_sentences_and_first_lines(docstring: str, findings: int) -> None:
    inner = textwrap.indent(docstring, "    ").lstrip(" ")
    for source in (
        f'"""{docstring}"""',
        f'X = 1\n"""{docstring}"""',
        f'class A:\n    x: int\n    """{inner}"""',
        f'def f():\n    """{inner}"""',
    ):
        assert [finding.rule for finding in check_source("config/x.py", source)] == ["prose"] * findings


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        ("x" * 120, []),
        ("short\n" + "x" * 121, [2]),
        ("| " + "x" * 121 + " |", []),
        ("a [link](" + "x" * 121 + ")", []),
        ("x" * 111 + " [link](target)", []),
        ("x" * 121 + " [link](target)", [1]),
        ("```\n" + "x" * 121 + "\n```\n" + "y" * 121, [4]),
        ("```sh\n" + "x" * 121 + "\n```", [2]),
    ],
)
def test_lines_of_a_page_are_short(page: str, lines: list[int]) -> None:
    assert [finding.line for finding in prose.check_page("docs/x.md", page)] == lines


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(pod):\n    return [each.name for each in pod.spec.containers]", ["shared-work:2"]),
        ("def f(spec):\n    for volume in (*spec.volumes, 1):\n        pass", ["shared-work:2"]),
        ("def f(pod):\n    return {key for key in pod.metadata.annotations.items()}", ["shared-work:2"]),
        ("def f(container):\n    return any(each.value for each in container.env)", ["shared-work:2"]),
        ("class A:\n    def f(self, pod):\n        validate_pod(pod)", ["shared-work:3"]),
        # The worker has computed what is kept once per spec.
        ("@once_per_spec\ndef f(spec):\n    return [each.name for each in spec.containers]", []),
        # What a runtime lists is no pod, and who asks for one field walks nothing.
        ("def f(response):\n    return [each.id for each in response.containers]", []),
        ("def f(pod):\n    return len(pod.spec.containers), pod.metadata.labels.get('a')", []),
        # Each handler says its work.
        ("class A:\n    @handles(B)\n    def f(self, _): ...", ["shared-work:3"]),
        ('class A:\n    @handles(B)\n    def f(self, _):\n        """Work: constant."""', []),
        (
            'class A:\n    @handles(B)\n    def f(self, _):\n        """Do it.\n\n        Work: all pods.\n        """',
            [],
        ),
    ],
)
def test_actors_that_serve_all_pods_walk_no_pod_and_say_what_they_do(source: str, expected: list[str]) -> None:
    assert [each for each in found("actors/sync/loop.py", source) if each.startswith("shared-work")] == expected
    for of_one_pod in ("actors/pod/worker.py", "actors/volumes/wishes/contents.py"):
        assert [each for each in found(of_one_pod, source) if each.startswith("shared-work")] == []


def test_a_place_that_is_allowed_to_walk_a_pod_does() -> None:
    path = "actors/eviction/words.py"
    (finding,) = shared_work.check_allowed([Module(PurePosixPath(path), ast.parse("def eviction_words(): ..."))])
    assert str(finding) == f"{path}:1 shared-work: eviction_words walks no pod; take it out of ALLOWED"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""The start of a pod (spec 2.7)."""', []),
        ('"""Probes (spec 5, 3.11 and 4.1 to 4.3)."""', []),
        ("# (spec 2.6.3)\nx = 1", []),
        ('"""Nowhere (spec 99.1)."""', ["citation:1"]),
        ('"""One.\n\nTwo (spec 2.7,\n2.999).\n"""', ["citation:3"]),
        ("x = 1  # (spec 2.6.99)", ["citation:1"]),
        # What only looks like a citation.
        ('"""msgspec 0.22 is fine, and so is spec.nodeName."""', []),
        ('x = "(spec 99.1)"', []),
    ],
)
def test_a_citation_of_the_book_leads_to_a_number_that_is_there(source: str, expected: list[str]) -> None:
    assert found("actors/pleg/pleg.py", source) == expected


def test_a_page_cites_numbers_that_are_there() -> None:
    page = "A pod (spec 2.7) and\nits end (spec 3.1000).\n"
    assert [finding.line for finding in citations.check_page("docs/x.md", page)] == [2]


def test_a_range_of_a_citation_stands_for_what_lies_between() -> None:
    known = ("4", "4.1", "4.2", "4.2.1", "4.3", "4.10", "5")
    assert list(citations.expanded("4.1 to 4.10", known)) == ["4.1", "4.2", "4.3", "4.10"]
    assert list(citations.expanded("4.2.1, 5", known)) == ["4.2.1", "5"]
