"""A kubemark takes the place of an agent: it gets those of its flags that it knows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import kubemark

TELLS = '#!/bin/sh\nprintf "%s\\n" "$@"\n'
FIELDS = {"port": 1024, "readOnlyPort": 1025, "maxPods": 1010, "kubeAPIQPS": 50, "kubeAPIBurst": 100}


@pytest.mark.parametrize(
    ("more", "content_type"),
    [
        pytest.param({}, "application/vnd.kubernetes.protobuf", id="as kubelets speak"),
        pytest.param({"contentType": "application/json"}, "application/json", id="as the configuration says"),
    ],
)
def test_it_gets_what_a_kubelet_was_told(tmp_path: Path, more: dict[str, Any], content_type: str) -> None:
    program, config = tmp_path / "kubemark", tmp_path / "config.json"
    program.write_text(TELLS, encoding="utf-8")
    program.chmod(0o755)
    config.write_text(json.dumps({**FIELDS, **more}), encoding="utf-8")
    flags = (f"--config={config}", "--kubeconfig=access", "--root-dir=root", "--hostname-override=bench-kubemark")
    words = (sys.executable, "-m", "benchmarks.kubemark", str(program), *flags)
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert told == [
        "--morph=kubelet",
        "--name=bench-kubemark",
        "--kubeconfig=access",
        "--kubelet-port=1024",
        "--kubelet-read-only-port=1025",
        "--max-pods=1010",
        "--kube-api-qps=50",
        "--kube-api-burst=100",
        f"--kube-api-content-type={content_type}",
        "--use-host-image-service=false",
    ]


def test_what_it_leaves_behind_is_removed_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubemark, "ROOTS", (tmp_path, "hollow-kubelet.*"))
    (tmp_path / "hollow-kubelet.1").mkdir()
    with kubemark.roots_removed():
        (tmp_path / "hollow-kubelet.2" / "pods").mkdir(parents=True)
        (tmp_path / "others").mkdir()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["hollow-kubelet.1", "others"]
