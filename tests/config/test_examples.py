"""The manifests that come with the program are good, and small enough to read."""

from pathlib import Path

import pytest

from config.examples import DIRECTORY, TROUBLED
from config.manifests import Origin, read_manifest
from config.pods.identity import is_sidecar, qos_class

ALL = sorted([*DIRECTORY.glob("*.yaml"), *TROUBLED.glob("*.yaml")])


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_every_example_becomes_one_pod_without_a_word_of_complaint(path: Path) -> None:
    read = read_manifest(path.read_bytes(), Origin.file(str(path)), "node")
    assert (read.errors, read.warnings) == ((), ())
    assert [pod.metadata.name for pod in read.pods] == [f"{path.stem}-node"]


def test_the_examples_show_what_they_say() -> None:
    pods = {
        path.stem: read_manifest(path.read_bytes(), Origin.file(str(path)), "node").pods[0]
        for path in DIRECTORY.glob("*.yaml")
    }
    assert set(pods) == {"web", "report", "prepared", "shared"}
    assert [is_sidecar(container) for container in pods["web"].spec.init_containers] == [True]
    assert pods["report"].spec.restart_policy == "OnFailure"
    assert len(pods["prepared"].spec.init_containers) == 2
    assert qos_class(pods["shared"]) == "Guaranteed"
