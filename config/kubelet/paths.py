"""Paths in documents as text, grown one step at a time, spelled as `config.documents.walk` spells them."""

from config.documents.walk import path_text


def below(path: str, key: str) -> str:
    """The path of a key below `path`: `$.a` and `b` give `$.a.b`; `x.y` gives `$.a["x.y"]`."""
    return path + path_text((key,))[1:]
