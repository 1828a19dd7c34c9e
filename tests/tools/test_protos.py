"""The generated modules are those of the `.proto` that lies beside them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tools import protos


def test_a_difference_is_found_and_shown(tmp_path: Path) -> None:
    for path in protos.MADE:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text((protos.ROOT / path).read_text())
    assert protos.differences(tmp_path) == []
    with (tmp_path / protos.MADE[1]).open("a") as made:
        made.write("class Fresh: ...\n")
    assert "+class Fresh: ..." in protos.differences(tmp_path)


def test_another_generator_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(protos, "GRPCIO_TOOLS", "0.0.1")
    assert protos.main(["--check"]) == 2
    assert "run `tox -e protos`" in capsys.readouterr().err
    assert find_spec("runtime.cri.v1.api_pb2") is not None
