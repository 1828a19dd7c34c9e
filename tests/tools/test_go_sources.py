"""What the sources of Kubernetes say of zeros."""

from __future__ import annotations

from pathlib import Path

from tools.go_sources import left_out_fields, written_lists

TYPES = """package v1

type Common struct {
\t// Image of it.
\tImage string `json:"image,omitempty" protobuf:"bytes,1,opt,name=image"`
}

type Thing struct {
\tCommon `json:",inline"`
\tName   string  `json:"name"`
\tTTY    bool    `json:"tty,omitempty"`
\tOwn    *bool   `json:"own,omitempty"`
\tParts  []Part  `json:"parts,omitempty"`
\tRules  []Part  `json:"rules" protobuf:"bytes,2,rep,name=rules"`
\tTexts  map[string]string `json:"texts"`
\tAt     metav1.Time `json:"at,omitempty"`
\tOther  Common  `json:"other,omitempty"`
}
"""


def sources(directory: Path) -> Path:
    place = directory / "staging/src/k8s.io/api/core/v1"
    place.mkdir(parents=True)
    (place / "types.go").write_text(TYPES)
    return directory


def test_fields_that_are_no_pointers_and_may_be_omitted_are_left_out_if_they_are_zero(tmp_path: Path) -> None:
    assert left_out_fields(sources(tmp_path))["core.v1.Thing"] == {"tty", "image"}


def test_lists_and_maps_that_may_not_be_omitted_are_written_when_they_are_empty(tmp_path: Path) -> None:
    assert written_lists(sources(tmp_path))["core.v1.Thing"] == {"rules", "texts"}
