"""A file system in memory: what is in it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from simulation.host.file_nodes import Directory
from simulation.host.file_tree import FileTree


def test_the_use_of_a_directory_is_the_sum_of_its_files() -> None:
    tree = FileTree()
    tree.make_directories("/a/b")
    tree.write("/a/one", b"12345")
    tree.write("/a/b/two", b"123")
    tree.link("/a/link", "/a/one")
    assert tree.usage("/a") == (8, 5)
    assert tree.usage("/a/b/two") == (3, 1)
    assert tree.usage("/none") == (0, 0)


def test_the_size_of_a_plain_file_is_true_after_whatever_was_done_to_it_and_to_those_above_it():
    tree = FileTree()
    tree.make_directories("/a/b")
    tree.write("/a/b/log", b"12")
    tree.link("/other", "/a")
    assert [tree.plain_size(path) for path in ("/a/b/log", "/other/b/log", "/a/b", "/a/c")] == [2, 2, 0, None]
    tree.open("/a/b/log").write(b"345")
    assert (tree.plain_size("/a/b/log"), tree.plain_size("/other/b/log")) == (5, 5)
    tree.rename("/other/b/log", "/a/b/log.1")
    assert (tree.plain_size("/a/b/log"), tree.plain_size("/a/b/log.1")) == (None, 5)
    tree.write("/a/b/log", b"6")
    assert tree.plain_size("/a/b/log") == 1
    tree.remove_all("/a/b")
    assert tree.plain_size("/a/b/log") is None
    tree.make_directories("/z/b")
    tree.write("/z/b/log", b"7890")
    tree.link("/other", "/z")
    assert tree.plain_size("/other/b/log") == 4


def test_a_file_replaced_by_a_link_frees_its_space():
    tree = FileTree(capacity_bytes=10)
    tree.write("/log", b"0123456789")
    old = tree.open("/log")
    tree.link("/log", "/elsewhere")
    assert (tree.used_bytes, old.linked) == (0, False)
    tree.link("/log", "/other")
    tree.write("/new", b"0123456789")


def test_links_that_lead_nowhere_are_told_where_they_lead_below_a_path():
    tree = FileTree()
    tree.make_directories("/links")
    tree.make_directories("/logs/pod")
    tree.write("/logs/pod/alive", b"")
    for name, target in (("a", "/logs/pod/gone"), ("b", "/logs/pod/alive"), ("c", "/elsewhere/gone")):
        tree.link(f"/links/{name}", target)
    assert tree.dead_links_in("/links", "/logs/") == ["a"]
    tree.remove("/logs/pod/alive")
    assert tree.dead_links_in("/links", "/logs/") == ["a", "b"]
    assert tree.dead_links_in("/nowhere", "/logs/") == []


def test_a_directory_moves_with_all_that_is_in_it_but_not_into_itself():
    tree = FileTree()
    tree.make_directories("/a/b/c")
    tree.write("/a/b/c/file", b"12")
    tree.link("/link", "/a/b")
    for inside in ("/a/b", "/a/b/c/d", "/link/d"):
        with pytest.raises(OSError, match="Invalid argument"):
            tree.rename("/a", inside)
    tree.rename("/a", "/a")
    tree.rename("/a/b", "/b")
    assert (tree.plain_size("/b/c/file"), tree.exists("/a/b"), tree.used_bytes) == (2, False, 2)


class _Forgetful(FileTree):
    """It walks every path from the root."""

    def _know(self, path: str, directory: Directory, above: Directory) -> None: ...


def _shows(tree: FileTree, path: str) -> tuple[bool, bool, int | None]:
    return tree.exists(path), tree.is_directory(path), tree.plain_size(path)


def _done(operation: Callable[..., None], *args: object) -> bool:
    try:
        operation(*args)
    except OSError:
        return False
    return True


@pytest.mark.parametrize("seed", range(12))
def test_the_path_cache_of_the_tree_never_changes_a_result(seed: int) -> None:
    """Directories go, come again and are renamed, links take their place, and paths are odd."""
    chance, tree, other = random.Random(seed), FileTree(), _Forgetful()
    names = ("a", "b", "c")
    paths = [f"/{one}" for one in names] + [f"/{one}/{two}" for one in names for two in names]
    paths += [f"{path}/{name}" for path in paths[3:] for name in names]
    odd = ["/a/", "/a/.", "/a/..", "/a/b/../c", "/a//b", "/b/a/.", "/b/a/..", "/b/./a", "/"]
    for _ in range(80):
        path = chance.choice(paths + odd)
        operation, *rest = chance.choice(
            (
                ("make_directories", path),
                ("make_directories", path),
                ("write", path, b"x" * chance.randrange(9)),
                ("write", path, b"x" * chance.randrange(9)),
                ("link", path, chance.choice((".", "..", "a", "../b", "/c/a"))),
                ("rename", path, chance.choice(paths)),
                ("remove", path),
                ("remove_all", path),
            )
        )
        assert _done(getattr(tree, operation), *rest) == _done(getattr(other, operation), *rest), (operation, rest)
        assert [_shows(tree, each) for each in paths + odd] == [_shows(other, each) for each in paths + odd], operation
        assert tree.used_bytes == other.used_bytes
