"""The node's docker configuration: which file counts, and what is said of the others (spec 6.3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.state.docker_config_files import LocalDockerConfig, NodeCredentials

JSON = '{"auths": {"r.io": {"username": "NAME"}}}'
FLAT = '{"r.io": {"username": "NAME"}}'
PLACES = ("root/config.json", "work/config.json", "home/.docker/config.json", "root/.dockercfg", "work/.dockercfg")


def write(at: Path, name: str) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text((JSON if at.name == "config.json" else FLAT).replace("NAME", name))


def read(at: Path) -> NodeCredentials:
    return LocalDockerConfig(str(at / "root"), str(at / "work"), str(at / "home")).read()


@pytest.mark.parametrize("first", range(len(PLACES)))
# (spec 6.3.3)
def test_the_first_of_the_places_counts(tmp_path: Path, first: int) -> None:
    for place in PLACES[first:]:
        write(tmp_path / place, place)
    assert [each.credential.username for each in read(tmp_path).entries] == [PLACES[first]]


def test_without_a_file_there_are_no_credentials(tmp_path: Path) -> None:
    assert read(tmp_path) == NodeCredentials()


def test_a_broken_file_is_passed_over_and_named(tmp_path: Path) -> None:
    write(tmp_path / "root/config.json", "x")
    (tmp_path / "root/config.json").write_text("{")
    (tmp_path / "work/config.json").mkdir(parents=True)
    write(tmp_path / "home/.docker/config.json", "mine")
    found = read(tmp_path)
    assert [each.credential.username for each in found.entries] == ["mine"]
    assert [str(tmp_path / place) in text for place, text in zip(PLACES, found.problems, strict=False)] == [True, True]


# (spec 6.3.3)
def test_a_docker_config_written_later_is_seen_at_the_next_read(tmp_path: Path) -> None:
    files = LocalDockerConfig(str(tmp_path / "root"), str(tmp_path), "")
    assert files.read().entries == ()
    write(tmp_path / "root/config.json", "new")
    assert files.read().entries[0].credential.username == "new"
