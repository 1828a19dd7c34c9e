"""Answers of a kubelet's own policies to 15,000 questions, kept as data (`tools.share_cases`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.share_cases.comparing import first_difference
from tools.share_cases.kept import kept
from tools.share_cases.ours import answers

FOLDER = Path(__file__).parent / "judged"


@pytest.mark.parametrize(
    ("name", "pod_level", "same_at_least"),
    [("containers", False, 700), ("pods", True, 320), ("containers-mended", False, 235), ("pods-mended", True, 235)],
)
def test_pods_get_what_a_kubelet_gives_them(name: str, pod_level: bool, same_at_least: int) -> None:
    same = 0
    for case, theirs in kept(FOLDER / f"{name}.xz"):
        ours = answers(case, pod_level=pod_level)
        different = first_difference(case, theirs, ours, mended=name.endswith("-mended"))
        assert different is None or different[1].startswith("meant: "), (case["text"], different)
        same += different is None
    assert same >= same_at_least
