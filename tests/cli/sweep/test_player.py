"""When a run of a scenario waits for the operator."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.sweep.player import player
from simulation.cluster import operator_bench
from simulation.cluster.sweep_file import read_sweep_file

SHOP = Path(__file__).parents[2] / "simulation" / "sweep" / "shop"
MAPS = "/api/v1/namespaces/default/configmaps"
WORKS_LONG = f"""
import sys, threading, time
sys.path.insert(0, {str(SHOP)!r})
from api import Api
api = Api()
api.ask("GET", {MAPS!r})
while time.process_time() < 1.5:
    pass
api.ask("POST", {MAPS!r}, {{"metadata": {{"name": "late"}}}})
threading.Event().wait()
"""
SWEEP = """
command: [python3, works_long.py]
quiet: 5s
steps:
  - apply: notes.yaml
"""
NOTES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
"""


def test_an_operator_that_works_for_longer_than_one_look_is_not_at_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator_bench, "STILL_WITHIN_S", 0.2)  # a look lasts for 0.8 s
    monkeypatch.setattr(operator_bench, "RESTLESS_LOOKS", 10_000)
    (tmp_path / "works_long.py").write_text(WORKS_LONG)
    (tmp_path / "notes.yaml").write_text(NOTES)
    sweep = SWEEP.replace("python3", sys.executable)
    with player(read_sweep_file(sweep.encode(), str(tmp_path))) as playing:
        record = playing.play(None)
    assert record.settled
    assert "configmaps default/late" in record.state
