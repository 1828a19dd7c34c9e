"""Logs on a whole node in virtual time stay bounded (pains 14).

However much is written, whatever fails, whenever the agent dies.
"""

from __future__ import annotations

import errno
import gzip
import itertools
from typing import Any

import msgspec
import pytest

from config.kubelet import KubeletConfiguration
from simulation.host.file_tree import FileTree
from tests.simulation.node.worlds import SECOND, World, manifest

LIMIT = 10 * 1024
RATE = 10_000
"""Bytes a second of a chatty container.

Limits and rates are a thousandth of those of real nodes.
"""
INTERVAL_S = 10
FILES = 5
LINE = "x" * 960
CHATTY = {"output": LINE, "output-every": "100ms"}
LARGEST = LIMIT + RATE * (INTERVAL_S + 1)


def small_logs(**fields: object) -> KubeletConfiguration:
    return msgspec.structs.replace(KubeletConfiguration(), container_log_max_size="10Ki", **fields)


def world(*names: str, behaviour: dict[str, str] | None = None, **options: Any) -> World:
    options.setdefault("configuration", small_logs())
    manifests = {f"{name}.yaml": manifest(name, behaviour=behaviour or CHATTY) for name in names or ("chatty",)}
    return World(manifests, **options).start()


class Logs:
    """The log directory of the container `app` of a pod."""

    def __init__(self, world: World, pod: str) -> None:
        self._tree: FileTree = world.node.host.tree
        self._world = world
        self._pod = pod

    def directory(self) -> str:
        root = self._world.node.plan.configuration.pod_logs_dir
        found = [name for name in self._tree.names_in(root) if name.startswith(f"default_{self._pod}-node_")]
        assert len(found) == 1, found
        return f"{root}/{found[0]}/app"

    def names(self) -> list[str]:
        return self._tree.names_in(self.directory())

    def sizes(self) -> dict[str, int]:
        """Name -> bytes, unpacked where packed."""
        return {name: len(self.data(name)) for name in self.names()}

    def data(self, name: str) -> bytes:
        data = self._tree.read(f"{self.directory()}/{name}")
        return gzip.decompress(data) if name.endswith(".gz") else data

    def everything(self) -> bytes:
        """All that is there, oldest first."""
        rotated = sorted(name for name in self.names() if name != "0.log")
        return b"".join(self.data(name) for name in [*rotated, "0.log"])


def written(world: World, *, since: int = 0) -> int:
    """Lines that a chatty container of this world has written."""
    return (world.dispatcher.now_ns() - since) // (SECOND // 10)


def no_gap(log: bytes) -> bool:
    """Lines are 100 ms apart, from the first to the last."""
    at = [int(line[17:19]) * 1000 + int(line[20:23]) for line in log.decode().splitlines()]
    return all((later - earlier) % 60_000 == 100 for earlier, later in itertools.pairwise(at))


# (spec 3.13.2)
def test_a_log_is_moved_away_compressed_and_removed_and_no_line_is_lost():
    node = world()
    node.until(lambda: node.running() == ["chatty/app"])
    logs = Logs(node, "chatty")
    node.run(35 * SECOND)
    assert no_gap(logs.everything())
    assert len(logs.everything().splitlines()) >= 340, "nothing has been removed yet"
    assert [name[-3:] for name in logs.names() if name.endswith(".gz")], "the older ones are compressed"
    assert not logs.names()[-1].endswith(".gz"), "the last one set aside is not"
    node.run(100 * SECOND)
    assert len(logs.names()) == FILES
    assert no_gap(logs.everything())


# (spec 3.13.1)
def test_a_log_has_never_more_files_than_allowed_also_while_it_is_rotated():
    configuration = small_logs(container_log_max_files=3, container_log_max_workers=2)
    node = world("one", "two", configuration=configuration)
    node.until(lambda: len(node.running()) == 2)
    tree, counts = node.node.host.tree, [0]

    def count() -> None:
        for pod in ("one", "two"):
            names = Logs(node, pod).names()
            whole = {name.removesuffix(".gz") for name in names if not name.endswith(".tmp")}
            counts.append(len(whole))

    end = tree.watch(Logs(node, "one").directory().rsplit("/", 2)[0], count)
    node.run(120 * SECOND)
    end()
    assert max(counts) == 3


def test_three_writers_are_bounded_by_limit_and_rate_at_every_moment():
    node = world("one", "two", "three")
    node.until(lambda: len(node.running()) == 3)
    directories = [Logs(node, name) for name in ("one", "two", "three")]
    for _ in range(60):
        node.run(2 * SECOND)
        for logs in directories:
            sizes = logs.sizes()
            assert max(sizes.values()) <= LARGEST
            assert len(sizes) <= FILES


def test_a_log_that_is_small_costs_one_list_and_one_look_at_all_logs_in_an_interval():
    node = World(
        {f"{n}.yaml": manifest(f"quiet{n}", behaviour={"output": "hello"}) for n in range(20)},
        configuration=small_logs(),
    ).start()
    node.until(lambda: len(node.running()) == 20)
    node.run(20 * SECOND)
    before = messages_of(node)
    node.run(10 * INTERVAL_S * SECOND)
    after = messages_of(node)
    spent = {path: after[path] - before.get(path, 0) for path in after}
    assert spent == {"/node/log-rotation": 20, "/node/log-rotation/surveyor": 10}
    assert Logs(node, "quiet0").names() == ["0.log"]


def messages_of(node: World) -> dict[str, int]:
    """Path -> messages handled, of all that rotates logs."""
    actors = node.node.node.report().actors
    return {actor.path: actor.handled for actor in actors if actor.path.startswith("/node/log-rotation")}


def test_a_size_below_zero_turns_rotation_off():
    node = world(configuration=msgspec.structs.replace(KubeletConfiguration(), container_log_max_size="-1"))
    node.until(lambda: node.running() == ["chatty/app"])
    node.run(60 * SECOND)
    assert Logs(node, "chatty").names() == ["0.log"]


# (spec 3.13.2)
def test_a_log_that_cannot_be_opened_anew_gets_its_name_back():
    node = world(behaviour={**CHATTY, "fail": "ReopenContainerLog*2"})
    node.until(lambda: node.running() == ["chatty/app"])
    logs = Logs(node, "chatty")
    node.run(25 * SECOND)
    assert logs.names() == ["0.log"], "twice refused, twice brought back"
    assert no_gap(logs.everything())
    node.run(10 * SECOND)
    assert len(logs.names()) == 2
    assert no_gap(logs.everything())


def test_a_runtime_that_never_answers_for_one_log_holds_up_no_other():
    hangs = manifest("hangs", behaviour={**CHATTY, "hang": "ReopenContainerLog"})
    node = World(
        {"hangs.yaml": hangs, "works.yaml": manifest("works", behaviour=CHATTY)}, configuration=small_logs()
    ).start()
    node.until(lambda: len(node.running()) == 2)
    for _ in range(20):
        node.run(7 * SECOND)
        assert max(Logs(node, "works").sizes().values()) <= LARGEST
    logs = Logs(node, "hangs")
    node.until(lambda: "0.log" in logs.names())
    assert logs.names() == ["0.log"], "brought back whenever the call is given up"
    assert no_gap(logs.everything())


# (spec 3.13.3)
def test_a_log_that_somebody_has_removed_is_opened_anew():
    node = world(behaviour={"output": "hello", "output-every": "1s"})
    node.until(lambda: node.running() == ["chatty/app"])
    node.run(2 * SECOND)
    logs = Logs(node, "chatty")
    node.node.host.tree.remove_all(f"{logs.directory()}/0.log")
    node.run((INTERVAL_S + 2) * SECOND)
    assert logs.names() == ["0.log"]
    assert logs.data("0.log")


def test_a_disk_that_fills_leaves_no_half_file_and_is_bounded_all_the_same():
    node = world()
    node.until(lambda: node.running() == ["chatty/app"])
    tree, logs = node.node.host.tree, Logs(node, "chatty")
    node.run(15 * SECOND)
    for _ in range(8):
        # Full at the moment in which something is compressed; what containers write meanwhile is lost to them.
        tree.capacity_bytes = tree.used_bytes
        node.run(INTERVAL_S * SECOND)
        assert not [name for name in logs.names() if name.endswith(".tmp")]
        assert len(logs.names()) <= FILES
        tree.capacity_bytes = None
        node.run(INTERVAL_S * SECOND)
    assert no_gap(logs.data("0.log"))
    assert max(logs.sizes().values()) <= LARGEST + RATE * INTERVAL_S


def test_a_directory_that_fails_is_said_once_and_the_others_go_on():
    node = world("sick", "well")
    node.until(lambda: len(node.running()) == 2)
    node.run(5 * SECOND)
    sick = Logs(node, "sick").directory()
    node.node.host.tree.fail(sick, errno.EIO)
    node.run(60 * SECOND)
    node.node.host.tree.heal(sick)
    node.run(40 * SECOND)
    assert max(Logs(node, "well").sizes().values()) <= LARGEST + RATE * 60, "a look at all is spoilt, and made again"
    assert Logs(node, "sick").sizes()["0.log"] <= LARGEST
    assert Logs(node, "well").sizes()["0.log"] <= LARGEST


@pytest.mark.parametrize("seed", range(25))
def test_an_agent_that_dies_at_any_moment_loses_no_line_and_leaves_nothing_half(seed: int):
    node = world(seed=seed)
    node.until(lambda: node.running() == ["chatty/app"])
    logs = Logs(node, "chatty")
    for _ in range(4):
        # Into the middle of a rotation: from the first look that finds the log too large, step by step.
        node.until(lambda: logs.sizes().get("0.log", 0) > LIMIT)
        node.run(node.dispatcher.chance.randrange(INTERVAL_S * SECOND))
        for _ in range(node.dispatcher.chance.randrange(60)):
            node.step()
        node.node.kill()
        node.run(node.dispatcher.chance.randrange(3 * SECOND))
        node.node.restart_agent()
        node.run((INTERVAL_S + 1) * SECOND)
        assert not [name for name in logs.names() if name.endswith(".tmp")]
        assert no_gap(logs.everything())
        assert len(logs.names()) <= FILES
    assert node.running() == ["chatty/app"]


def test_an_agent_may_die_at_every_single_step_of_a_rotation():
    """From just before a look that finds a log to set aside and another to compress, to well after both."""
    found: set[tuple[str, ...]] = set()
    for steps in range(60):
        node = world()
        node.until(lambda node=node: node.running() == ["chatty/app"])  # type: ignore[misc]
        logs = Logs(node, "chatty")
        node.until(lambda logs=logs: len(logs.names()) == 2 and logs.sizes()["0.log"] > LIMIT)  # type: ignore[misc]
        began = logs.names()
        look_ns = next(at for at in range(0, 10**12, INTERVAL_S * SECOND) if at > node.dispatcher.now_ns())
        node.run(look_ns - 1 - node.dispatcher.now_ns())
        for _ in range(steps):
            node.step()
        node.node.kill()
        found.add(tuple(name[-3:] for name in logs.names()))
        node.run(2 * SECOND)
        node.node.restart_agent()
        node.run(3 * SECOND)
        assert not [name for name in logs.names() if name.endswith(".tmp")], steps
        assert no_gap(logs.everything()), steps
        assert "0.log" in logs.names(), steps
        assert began[1] in logs.names() or f"{began[1]}.gz" in logs.names(), steps
    assert len(found) >= 4, f"the kills have met too few different moments: {found}"


def test_logs_under_rotation_are_removed_with_their_pod():
    node = world()
    node.until(lambda: node.running() == ["chatty/app"])
    directory = Logs(node, "chatty").directory()
    for _ in range(3):
        node.until(lambda: Logs(node, "chatty").sizes().get("0.log", 0) > LIMIT)
    node.node.remove_manifest("chatty.yaml")
    node.until(lambda: not node.node.pods())
    node.run(30 * SECOND)
    assert not node.node.host.tree.exists(directory)


def test_logs_of_a_container_that_ended_stay_as_they_are_until_it_is_collected():
    ends = {**CHATTY, "run-for": "25s, forever"}
    node = world(behaviour=ends)
    node.until(lambda: bool(node.cri.state.containers) and node.status("chatty").restart_count == 1)
    logs = Logs(node, "chatty")
    of_the_first = [name for name in logs.names() if name.startswith("0.log")]
    node.run(60 * SECOND)
    assert [name for name in logs.names() if name.startswith("0.log")] == of_the_first
    assert len([name for name in logs.names() if name.startswith("1.log.")]) >= 2
