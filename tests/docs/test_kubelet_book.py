"""The book of what a kubelet does has stable numbers, and nearly every fact has a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.generators import kubelet_book
from docs.generators.kubelet_book import ChapterPage, Cited, facts, is_proven
from tests.lint.rules.citations import numbers, place

LIFE_OF_A_POD = ("2.6", "3.1", "3.2", "3.3", "3.4", "3.10", "4.1", "4.2", "4.3", "4.4", "5")
"""Sections of which each fact has a test."""


def test_facts_are_numbered_in_order_and_without_gaps() -> None:
    listed = [fact.number for fact in facts()]
    assert listed == sorted(set(listed), key=place)
    assert len(listed) > 600
    for number in listed:
        section, _, last = number.rpartition(".")
        assert section in numbers()
        assert last == "1" or f"{section}.{int(last) - 1}" in listed, number


def test_fewer_than_one_fact_in_twenty_lacks_a_test() -> None:
    done = [fact for fact in facts() if fact.is_done]
    assert sum(not is_proven(fact) for fact in done) < len(done) / 20


@pytest.mark.parametrize("section", LIFE_OF_A_POD)
def test_each_fact_about_the_life_of_a_pod_has_a_test(section: str) -> None:
    of_section = [fact for fact in facts() if fact.number.rpartition(".")[0] == section]
    assert of_section
    assert [fact.number for fact in of_section if not is_proven(fact)] == []


class _ChapterElsewhere(ChapterPage, frozen=True):
    folder: Path = Path()

    @property
    def path(self) -> Path:
        return self.folder / self.name


def test_tests_and_code_stand_beside_a_fact_and_what_is_not_done_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Cited({"1.1.1": (("tests/a.py", "test_it"), ("tests/b.py", ""))}, {"1.1": ("actors/a.py",)})
    monkeypatch.setattr(kubelet_book, "cited", lambda: found)
    page = _ChapterElsewhere("kubelet_book", "1.md", folder=tmp_path)
    page.path.write_text(
        "# 1 Start\n\n## 1.1 One\n\n> old words\n\n**1.1.1** A fact.\n\n| a |\n|---|\n\n**1.1.2** Another.\n\n"
        "**1.1.3** *(not done by this agent)* A third.\n"
    )
    assert page.text() == (
        "# 1 Start\n\n## 1.1 One\n\n> Code: `actors/a.py`.\n\n**1.1.1** A fact.\n\n| a |\n|---|\n\n"
        "> Tests: `tests/a.py`: `test_it`; `tests/b.py`.\n\n**1.1.2** Another.\n\n> Tests: none.\n\n"
        "**1.1.3** *(not done by this agent)* A third.\n"
    )


def test_a_citation_belongs_to_the_test_that_it_stands_above_or_in() -> None:
    text = (
        '"""All of this (spec 2.7)."""\n\n\n# (spec 2.6.3)\ndef test_one(): ...\n\n\n'
        '@marks(\n    # (spec 2.6.4)\n    row,\n)\ndef test_two():\n    """Two (spec 2.6.5)."""\n\n\n'
        "def test_spec_3_10_three(): ...\n"
    )
    assert set(kubelet_book.citations_in_tests(text)) == {
        *(("2.7", ""), ("2.6.3", "test_one"), ("2.6.4", "test_two"), ("2.6.5", "test_two")),
        ("3.10", "test_spec_3_10_three"),
    }
