"""A file system in memory: what is in it."""

from __future__ import annotations

from simulation.file_tree import FileTree


def test_what_a_directory_takes_is_the_sum_of_its_files() -> None:
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
