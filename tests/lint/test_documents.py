"""The targets of all links in `docs/` and beside it exist. The index and the site have every page.

The picture of the architecture has every actor.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

from tests.lint.rules import MADE_BY_TOOLS
from tests.lint.rules.__main__ import ROOT
from tests.lint.rules.floors import FLOORS

DOCS = ROOT / "docs"
ARCHITECTURE = DOCS / "explanation" / "architecture.md"
INDEX = DOCS / "index.md"
PAGES = (*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")))
_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PATH = re.compile(r"`((?:config|runtime|actors|simulation|cli|tests|docs)/[\w./*-]*)`")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def prose(page: Path) -> str:
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Of the headings, as the usual viewers make them."""
    headings = _HEADING.findall(prose(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page: Path):
    astray = []
    for link in _LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        aim = page.parent / path if path else page
        if "://" not in link and not (aim.exists() and (not anchor or anchor in anchors(aim))):
            astray.append(link)
    assert astray == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path):
    assert [path for path in _PATH.findall(prose(page)) if not any(ROOT.glob(path.rstrip("/")))] == []


def pages_by_kind() -> dict[str, list[str]]:
    """Kind -> its pages, in the navigation of the site."""
    entries = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    return {kind: pages for entry in entries for kind, pages in entry.items() if isinstance(pages, list)}


def test_the_index_leads_to_every_page():
    led_to = set(_LINK.findall(prose(INDEX)))
    assert {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - led_to == {INDEX.name}


def test_the_site_has_the_pages_of_the_index_by_the_same_kinds_in_the_same_order():
    parts = re.split(r"^## (.*)$", prose(INDEX), flags=re.MULTILINE)[1:]
    assert {kind: _LINK.findall(links) for kind, links in zip(parts[::2], parts[1::2], strict=True)} == pages_by_kind()


def actor_classes() -> set[str]:
    """The classes in `actors/` that are spawned, without pure base classes."""
    bases: dict[str, set[str]] = {}
    for path in (ROOT / "actors").rglob("*.py"):
        if "kernel" not in path.parts:
            classes = [node for node in ast.parse(path.read_bytes()).body if isinstance(node, ast.ClassDef)]
            bases |= {each.name: {base.id for base in each.bases if isinstance(base, ast.Name)} for each in classes}
    found: set[str] = set()
    while more := {name for name, of in bases.items() if of & (found | {"Actor"})} - found:
        found |= more
    return found - set().union(*(bases[name] for name in found))


def test_the_picture_of_the_architecture_has_every_actor():
    drawn = set(re.findall(r"\w+", ARCHITECTURE.read_text(encoding="utf-8").partition("```\n/")[2].partition("```")[0]))
    found = actor_classes()
    assert len(found) > 40
    assert found - drawn == set()


PACKAGES = [
    path.parent
    for floor in FLOORS
    for path in sorted((ROOT / floor).rglob("__init__.py"))
    if not f"{path.relative_to(ROOT).as_posix()}/".startswith(MADE_BY_TOOLS)
]
_FILE = re.compile(r"`([\w/]+(?:\.py|/))`")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.relative_to(ROOT).as_posix())
def test_a_package_names_files_that_are_there(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert docstring, "say what lives there and which file to open first"
    assert [
        name for name in _FILE.findall(docstring) if not ((package / name).exists() or (ROOT / name).exists())
    ] == []
