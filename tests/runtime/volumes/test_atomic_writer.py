"""Files that change all at once, on a real disk, with a death at every step."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.volumes.atomic_writer import SWAPPED, checked, has_content, payload_steps, write_payload
from runtime.volumes.capability import Payload, VolumeFailedError, VolumeFile

View = dict[str, bytes]


def payload(**files: str) -> Payload:
    """Keyword `a__b="x"` is a file `a/b`."""
    return {name.replace("__", "/"): VolumeFile(text.encode()) for name, text in files.items()}


def content(files: Payload) -> View:
    return {path: file.data for path, file in files.items()}


def seen(directory: str | Path) -> View:
    """What a reader can open by the names that are meant for users."""

    def below(path: str, prefix: str) -> Iterator[tuple[str, bytes]]:
        for name in os.listdir(path):
            if name.startswith(".."):
                continue
            inside = os.path.join(path, name)
            if os.path.isdir(inside):
                yield from below(inside, f"{prefix}{name}/")
            elif os.path.exists(inside):
                yield prefix + name, Path(inside).read_bytes()

    return dict(below(str(directory), ""))


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def version(directory: Path) -> str:
    return os.readlink(directory / "..data")


# (spec 8.7.6)
def test_files_are_links_through_one_link_to_a_directory_named_for_its_time(tmp_path: Path):
    assert write_payload(str(tmp_path), payload(conf="x", certs__ca="y"))
    assert sorted(os.listdir(tmp_path)) == sorted([version(tmp_path), "..data", "certs", "conf"])
    assert re.fullmatch(r"\.\.\d{4}(_\d\d){5}\.[a-z0-9_]+", version(tmp_path))
    assert os.readlink(tmp_path / "conf") == "..data/conf"
    assert os.readlink(tmp_path / "certs") == "..data/certs"
    assert mode(tmp_path / version(tmp_path)) == mode(tmp_path / "certs") == 0o755
    assert seen(tmp_path) == {"conf": b"x", "certs/ca": b"y"}


# (spec 8.7.6)
def test_an_unchanged_payload_is_not_written_again(tmp_path: Path):
    files = payload(a="x", b__c="y")
    write_payload(str(tmp_path), files)
    before = version(tmp_path)
    assert not write_payload(str(tmp_path), files)
    assert version(tmp_path) == before


@pytest.mark.parametrize(
    "changed",
    [
        payload(a="z", b="y"),
        payload(a="x"),
        payload(a="x", b="y", c="z"),
        payload(a="x", b__c="y"),
        payload(),
        {"a": VolumeFile(b"x", 0o400), "b": VolumeFile(b"y")},
        {"a": VolumeFile(b"x", uid=1234), "b": VolumeFile(b"y")},
    ],
)
def test_every_change_is_written_and_what_is_gone_is_removed(tmp_path: Path, changed: Payload):
    write_payload(str(tmp_path), payload(a="x", b="y"))
    assert write_payload(str(tmp_path), changed)
    assert seen(tmp_path) == content(changed)
    names = {path.partition("/")[0] for path in changed}
    assert set(os.listdir(tmp_path)) == names | {"..data", version(tmp_path)}
    assert not write_payload(str(tmp_path), changed)


# (spec 8.7.7)
def test_modes_and_owners_are_those_asked_for(tmp_path: Path):
    files = {"open": VolumeFile(b"", 0o777), "closed": VolumeFile(b"", 0o400), "token": VolumeFile(b"", 0o600, 1234)}
    write_payload(str(tmp_path), files)
    assert [mode(tmp_path / name) for name in files] == [0o777, 0o400, 0o600]
    assert os.stat(tmp_path / "token").st_uid == 1234


def test_a_group_owns_everything_and_may_read_it(tmp_path: Path):
    files = {"a": VolumeFile(b"", 0o600, 1234), "b/c": VolumeFile(b"", 0o644)}
    assert write_payload(str(tmp_path), files, 777)
    paths = [tmp_path / "a", tmp_path / "b/c", tmp_path / "b", tmp_path / version(tmp_path)]
    assert [mode(path) for path in paths] == [0o640, 0o644, 0o2755, 0o2755]
    assert {os.stat(path).st_gid for path in paths} == {777}
    assert os.stat(tmp_path / "a").st_uid == 1234
    assert not write_payload(str(tmp_path), files, 777)
    assert write_payload(str(tmp_path), files, 778)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "..",
        "../x",
        "a/../b",
        "a/..",
        "..data",
        "..2026/x",
        "...x",
        ".",
        "a\0b",
        "x" * 256,
        "x/" * 2049,
    ],
)
# (spec 8.7.7)
def test_a_path_that_leads_elsewhere_is_refused_and_nothing_is_touched(tmp_path: Path, path: str):
    write_payload(str(tmp_path), payload(a="x"))
    with pytest.raises(VolumeFailedError):
        write_payload(str(tmp_path), {path: VolumeFile(b"y")})
    assert seen(tmp_path) == {"a": b"x"}


def test_paths_are_tidied_and_may_be_long():
    long = "/".join(["x" * 255] * 16)
    files = checked(
        {"./a//b": VolumeFile(b""), ".hidden": VolumeFile(b""), "a..b": VolumeFile(b""), long: VolumeFile(b"")}
    )
    assert list(files) == [".hidden", "a..b", "a/b", long]


def test_a_file_cannot_be_a_directory_too():
    with pytest.raises(VolumeFailedError, match="'a/b' is to lie in it"):
        checked(payload(a="x", a__b="y"))


def test_foreign_files_in_a_volume_stay(tmp_path: Path):
    (tmp_path / "mount point").mkdir()
    (tmp_path / "foreign").symlink_to("/etc/passwd")
    write_payload(str(tmp_path), payload(a="x"))
    write_payload(str(tmp_path), payload(b="x"))
    assert (tmp_path / "mount point").is_dir()
    assert (tmp_path / "foreign").is_symlink()
    (tmp_path / "taken").mkdir()
    with pytest.raises(VolumeFailedError, match="taken by a mount point"):
        write_payload(str(tmp_path), payload(taken="x"))


def test_a_link_that_somebody_has_turned_is_turned_back(tmp_path: Path):
    write_payload(str(tmp_path), payload(a="x"))
    os.unlink(tmp_path / "a")
    (tmp_path / "a").symlink_to("/etc/passwd")
    write_payload(str(tmp_path), payload(a="x"))
    assert seen(tmp_path) == {"a": b"x"}


@pytest.mark.parametrize("target", ["/etc", "..", "elsewhere", "..2026_01_01_00_00_00.gone"])
def test_a_version_that_cannot_be_ours_does_not_count(tmp_path: Path, target: str):
    (tmp_path / "..data").symlink_to(target)
    assert not has_content(str(tmp_path))
    assert write_payload(str(tmp_path), payload(a="x"))
    assert has_content(str(tmp_path))
    assert seen(tmp_path) == {"a": b"x"}


def test_two_writers_do_not_meet(tmp_path: Path):
    first = payload_steps(str(tmp_path), payload(a="x"))
    next(first)
    with pytest.raises(VolumeFailedError, match="still being written"):
        write_payload(str(tmp_path), payload(a="y"))
    assert list(first)
    assert seen(tmp_path) == {"a": b"x"}


# --- dying ----------------------------------------------------------------------------------------------------------

PATHS = st.sampled_from(["a", "b", "c/d", "c/e", "f/g/h", "c", "f"])
FILES = st.builds(VolumeFile, st.sampled_from([b"", b"x", b"y"]), st.sampled_from([0o644, 0o400]))


def sound(files: Payload) -> bool:
    try:
        checked(files)
    except VolumeFailedError:
        return False
    return True


PAYLOADS = st.dictionaries(PATHS, FILES, max_size=5).filter(sound)


@given(st.lists(st.tuples(PAYLOADS, st.integers(0, 30)), min_size=1, max_size=6), st.booleans())
# (spec 8.7.6)
def test_a_reader_never_sees_a_mix_wherever_the_agent_dies(runs: list[tuple[Payload, int]], grouped: bool):
    group = 777 if grouped else None
    with TemporaryDirectory() as directory:
        counts: View = {}
        for files, lives in runs:
            old, new = counts, content(files)
            work = payload_steps(directory, files, group)
            for number, step in enumerate(work):
                if step == SWAPPED:
                    counts = new
                assert seen(directory) == counts, f"after {step}, between {old} and {new}"
                if number == lives:
                    break  # it dies
            else:
                counts = new
            work.close()
            assert seen(directory) == counts
        last = runs[-1][0]
        write_payload(directory, last, group)
        assert seen(directory) == content(last)
        names = {path.partition("/")[0] for path in last}
        assert set(os.listdir(directory)) == names | {"..data", version(Path(directory))}
        assert not write_payload(directory, last, group)


def test_each_step_of_a_change_shows_the_old_or_the_new(tmp_path: Path):
    old, new = payload(a="old", b="old", gone__x="old"), payload(a="new", b="new", come__x="new")
    everything: list[str] = []
    for number in range(30):
        directory = tmp_path / str(number)
        directory.mkdir()
        write_payload(str(directory), old)
        steps = []
        for step in payload_steps(str(directory), new):
            steps.append(step)
            if len(steps) > number:
                break
        everything = max(everything, steps, key=len)
        assert seen(directory) == content(new if SWAPPED in steps else old)
        write_payload(str(directory), new)
        assert set(os.listdir(directory)) == {"a", "b", "come", "..data", version(directory)}
    assert [re.sub(r"\d{4}.*", "OLD", step) for step in everything] == [
        "version made",
        "written a",
        "written b",
        "written come/x",
        "linked come",
        "swapped",
        "unlinked gone",
        "removed ..OLD",
    ]
