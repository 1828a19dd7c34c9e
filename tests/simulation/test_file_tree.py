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
