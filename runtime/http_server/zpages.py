"""`/statusz` and `/flagz` (KEP-4827, KEP-4828).

They give text for people, and objects of `config.k8s.io` for programs.

Pure. A program names the object in its Accept header: `application/json;g=config.k8s.io;v=v1beta1;as=Statusz`, or
`application/yaml`. Nobody gets JSON of a shape that he did not name: without the three words the answer is 406. Without
a header, and for `text/plain` and `*/*`, the answer is text. `v1alpha1` still works, with a warning.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from runtime.http_server.heads import HttpRefusal

GROUP = "config.k8s.io"
VERSIONS = ("v1beta1", "v1alpha1")
DEPRECATED = frozenset({"v1alpha1"})
COMPONENT = "kubelet"
STATUSZ, FLAGZ = "Statusz", "Flagz"
TEXT, JSON, YAML = "text/plain", "application/json", "application/yaml"
HEADER_CHARACTERS_AT_MOST = 4096
EMULATED = "1.36"
_NOTE = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only."
)


@dataclass(frozen=True, slots=True)
class Page:
    """The answer. `headers` beside its type."""

    text: str
    content_type: str = TEXT
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A form, and for an object its version."""

    content_type: str
    version: str = ""


def wanted(accept: str, kind: str) -> Wanted:
    """The first form in an Accept header that this server has, by quality. Raises HttpRefusal (406)."""
    if not accept.strip():
        return Wanted(TEXT)
    clauses = [_clause(each) for each in accept[:HEADER_CHARACTERS_AT_MOST].split(",")]
    for media_type, words in sorted(clauses, key=lambda clause: -_quality(clause[1])):
        if _quality(words) > 0 and (found := _match(media_type, words, kind)) is not None:
            return found
    raise HttpRefusal(
        406,
        f"only these are answered: {TEXT}, and {JSON} or {YAML} with ;g={GROUP};v={VERSIONS[0]};as={kind}",
    )


def _clause(text: str) -> tuple[str, Mapping[str, str]]:
    media_type, *words = (part.strip() for part in text.split(";"))
    pairs = (word.partition("=") for word in words)
    return media_type.lower(), {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def _quality(words: Mapping[str, str]) -> float:
    try:
        return float(words.get("q", "1"))
    except ValueError:
        return 0.0


def _match(media_type: str, words: Mapping[str, str], kind: str) -> Wanted | None:
    named = {name: words[name] for name in ("g", "v", "as") if name in words}
    if not named:
        return Wanted(TEXT) if media_type in (TEXT, "text/*", "*/*") else None
    if named.get("g") != GROUP or named.get("as") != kind or named.get("v") not in VERSIONS:
        return None
    for offered in (JSON, YAML):
        if media_type in (offered, "application/*", "*/*"):
            return Wanted(offered, named["v"])
    return None


def statusz(accept: str, *, version: str, began_s: float, now_s: float, python: str, paths: Iterable[str]) -> Page:
    """`version`: of the agent, with its `v`; `began_s`, `now_s`: times of day; `paths`: of the endpoints."""
    asked = wanted(accept, STATUSZ)
    binary = version.removeprefix("v")
    up_s = max(0, int(now_s - began_s))
    listed = sorted({f"/{path.split('/')[1]}" for path in paths if path.strip("/")})
    if asked.content_type == TEXT:
        began = time.strftime("%a %b %e %H:%M:%S UTC %Y", time.gmtime(began_s))
        lines = (
            f"Started: {began}",
            f"Up: {up_s // 3600} hr {up_s // 60 % 60:02d} min {up_s % 60:02d} sec",
            f"Python version: {python}",
            f"Binary version: {binary}",
            f"Emulation version: {EMULATED}",
            f"Paths: {' '.join(listed)}",
        )
        return Page(_headed(STATUSZ, lines))
    body = {
        "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began_s)),
        "uptimeSeconds": up_s,
        "goVersion": "",  # the field is not optional, and no Go is here
        "binaryVersion": binary,
        "emulationVersion": EMULATED,
        "paths": listed,
    }
    return _object(asked, STATUSZ, body)


def flagz(accept: str, flags: Mapping[str, str]) -> Page:
    """`flags`: name -> value."""
    asked = wanted(accept, FLAGZ)
    if asked.content_type == TEXT:
        return Page(_headed(FLAGZ, (f"{name}={value}" for name, value in sorted(flags.items()))))
    return _object(asked, FLAGZ, {"flags": dict(sorted(flags.items()))} if flags else {})


def _headed(kind: str, lines: Iterable[str]) -> str:
    return "\n".join(("", f"{COMPONENT} {kind.lower()}", _NOTE, "", *lines, ""))


def _object(asked: Wanted, kind: str, body: Mapping[str, object]) -> Page:
    document = {
        "kind": kind,
        "apiVersion": f"{GROUP}/{asked.version}",
        "metadata": {"name": COMPONENT},
        **body,
    }
    page = kind.lower()
    warning = f'299 - "This version of the {page} endpoint is deprecated. Please use a newer version."'
    headers = {"Warning": warning} if asked.version in DEPRECATED else {}
    if asked.content_type == YAML:
        from config.documents.writing import yaml_text  # slow to import, and few ask for it

        return Page(yaml_text(document), YAML, headers)
    return Page(json.dumps(document), JSON, headers)
