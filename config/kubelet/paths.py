"""Paths in documents as text, built step by step, in the notation of `config.documents.walk`."""

from config.documents.walk import path_text


def below(path: str, key: str) -> str:
    """The path of a key below `path`: `$.a` and `b` give `$.a.b`; `x.y` gives `$.a["x.y"]`."""
    return path + path_text((key,))[1:]
