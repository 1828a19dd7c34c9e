"""Where a node reads of its credential programs, and what it refuses to start on."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from config.documents.codec import DocumentError
from runtime.image_providers.config_files import ProviderConfig, read_provider_config


class Place:
    def __init__(self, directory: Path) -> None:
        self.configs = directory / "configs"
        self.programs = directory / "programs"
        self.configs.mkdir()
        self.programs.mkdir()

    def configure(self, file: str, *names: str) -> Path:
        providers = "".join(
            f"- {{name: {name}, matchImages: [r.io], defaultCacheDuration: 0s,"
            " apiVersion: credentialprovider.kubelet.k8s.io/v1}\n"
            for name in names
        )
        head = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n"
        (self.configs / file).write_text(head + providers)
        return self.configs / file

    def program(self, name: str, mode: int = 0o755) -> None:
        (self.programs / name).write_text("#!/bin/sh\n")
        (self.programs / name).chmod(mode)

    def read(self, path: Path) -> ProviderConfig:
        return read_provider_config(str(path), str(self.programs), tokens=True)

    def faults(self, path: Path) -> list[str]:
        with pytest.raises(DocumentError) as caught:
            self.read(path)
        return [str(fault) for fault in caught.value.faults]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# (spec 6.3.5)
def test_a_file_and_a_directory_are_read_in_the_order_of_names(place: Place) -> None:
    for name in "abc":
        place.program(name)
    one = place.configure("20.yaml", "b")
    place.configure("10.json", "c")
    place.configure("30.yml", "a")
    (place.configs / "notes.txt").write_text("none of it")
    (place.configs / "old.yaml").mkdir()
    assert [each.name for each in place.read(one).providers] == ["b"]
    assert [each.name for each in place.read(place.configs).providers] == ["c", "b", "a"]
    assert place.read(one).digest != place.read(place.configs).digest
    content = (place.configs / "20.yaml").read_bytes()
    expected = hashlib.sha256(len(content).to_bytes(8, "big") + content).hexdigest()
    assert place.read(one).digest == f"sha256:{expected}"  # as a kubelet 1.36 has it for one file


# (spec 6.3.5)
def test_every_program_that_cannot_be_run_is_told(place: Place) -> None:
    place.program("plain", 0o644)
    place.program("good")
    (place.programs / "folder").mkdir()
    faults = place.faults(place.configure("c.yaml", "gone", "plain", "good", "folder"))
    assert [fault.partition(";")[0].rsplit("/", 1)[-1] for fault in faults] == [
        "gone is not there",
        "plain is not a program",
        "folder is not a program",
    ]
    assert all(fault.startswith("--image-credential-provider-bin-dir: ") for fault in faults)


def test_a_missing_config_path_is_reported_with_its_flag(place: Place) -> None:
    for path in (place.configs, place.configs / "none.yaml"):
        (fault,) = place.faults(path)
        assert fault.startswith(f"--image-credential-provider-config: {path}: ")
