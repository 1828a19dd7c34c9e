"""Paths of the file system in memory: absolute, and one name for each place."""

from __future__ import annotations

import os


def normal(path: str) -> str:
    """The path as the tree names it. Nearly all come so."""
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is not an absolute path")
    if "//" not in path and "/." not in path and not path.endswith("/"):
        return path
    return os.path.normpath(path).replace("//", "/")


def directory_of(path: str) -> str:
    """The parent of a path: `os.path.dirname`, for a path as the tree names it."""
    return path.rpartition("/")[0] or "/"


def lies_in(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix if prefix == "/" else f"{prefix}/")


def error_at(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
