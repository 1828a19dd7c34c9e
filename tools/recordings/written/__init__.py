"""Scripts that are written by hand, for what a smallest object does not show.

They show how plugins of admission judge, how collections are read, how versions of a kind are converted, and rules that
depend on another field.

A file of YAML has scripts by name. A script is a list of requests, each `METHOD PATH?QUERY: BODY`. It has a namespace
of its own, whose name stands for NAMESPACE. It removes what it made outside of that. A PATCH is a merge patch,
and APPLY a server-side apply. What scripts share stands under a name that begins with $.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import yaml

from tools.recordings.player import Request, Script

HERE = Path(__file__).parent
_BEGINNINGS = {"config_data": "rules", "evictions": "verbs", "autoscalers": "versions", "reading": "verbs"}
_JSON = "application/json"
_PATCHES = {"PATCH": "application/merge-patch+json", "APPLY": "application/apply-patch+yaml"}


def written_files() -> dict[str, Path]:
    """The files by the name of their recording."""
    return {f"{_BEGINNINGS.get(path.stem, 'admission')}_{path.stem}": path for path in sorted(HERE.glob("*.yaml"))}


def written_scripts(path: Path) -> Iterator[Script]:
    """The scripts of a file."""
    for name, lines in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        if name.startswith("$"):
            continue
        namespace = f"{path.stem}-{name}".replace("_", "-").replace(" ", "-")
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        prelude = (
            Request("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}}),
            Request("POST", accounts, body={"metadata": {"name": "default"}}),
            Request("GET", f"{accounts}/default"),  # Whoever has made it, its version is the second one.
        )
        asked = tuple(_request(words, body, namespace) for line in lines for words, body in line.items())
        yield Script(f"{path.stem} {name}", len(prelude), (*prelude, *asked))


def _request(words: str, body: Any, namespace: str) -> Request:
    method, place = words.split(" ")
    path, _, query = place.partition("?")
    return Request(
        "PATCH" if method in _PATCHES else method,
        path.replace("NAMESPACE", namespace),
        dict(parse_qsl(query)),
        _named(body, namespace),
        _PATCHES.get(method, _JSON),
    )


def _named(body: Any, namespace: str) -> Any:
    if isinstance(body, dict):
        return {name: _named(part, namespace) for name, part in body.items()}
    if isinstance(body, list):
        return [_named(part, namespace) for part in body]
    return body.replace("NAMESPACE", namespace) if isinstance(body, str) else body
