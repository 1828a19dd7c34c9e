"""Files that flags name are read, and errors name the missing ones."""

from pathlib import Path

import pytest

from config.flags.command_line import parse_flags
from config.start_configuration import ConfigurationRejected
from runtime.state.config_files import BYTES_AT_MOST, configuration_of, read_drop_ins

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def test_file_and_drop_ins_below_each_other_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(HEADER + "maxPods: 1\nstaticPodPath: manifests\n")
    folder = tmp_path / "conf.d"
    (folder / "20").mkdir(parents=True)
    (folder / "10-first.conf").write_text(HEADER + "maxPods: 2\npodsPerCore: 4\n")
    (folder / "20" / "a.conf").write_text(HEADER + "maxPods: 3\n")
    (folder / "20" / "notes.txt").write_text("not read")
    loaded = configuration_of(parse_flags([f"--config={tmp_path}/config.yaml", f"--config-dir={folder}"]))
    assert (loaded.configuration.max_pods, loaded.configuration.pods_per_core) == (3, 4)
    assert loaded.configuration.static_pod_path == f"{tmp_path}/manifests"
    assert loaded.skipped == (f"{folder}/20/notes.txt",)


def test_a_relative_config_path_resolves_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text(HEADER + "staticPodPath: manifests\n")
    monkeypatch.chdir(tmp_path)
    loaded = configuration_of(parse_flags(["--config=config.yaml"]))
    assert loaded.configuration.static_pod_path == f"{tmp_path}/manifests"


def test_an_empty_drop_in_directory_is_in_order(tmp_path: Path) -> None:
    assert read_drop_ins(str(tmp_path)) == ()


def test_missing_file_and_directory_are_told_with_every_other_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationRejected) as rejected:
        configuration_of(
            parse_flags([f"--config={tmp_path}/none.yaml", f"--config-dir={tmp_path}/none.d", "--port=70000"])
        )
    assert [(fault.path, fault.reason) for fault in rejected.value.faults] == [
        ("--config", f"{tmp_path}/none.yaml: No such file or directory"),
        ("--config-dir", f"{tmp_path}/none.d: No such file or directory"),
        ("$.port", "is 70000, must be between 1 and 65535"),
    ]


# (spec 12.1.6)
def test_a_missing_file_alone_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationRejected, match=r"--config: .*/none: No such file"):
        configuration_of(parse_flags([f"--config={tmp_path}/none"]))


@pytest.mark.parametrize("content", ["", "# nothing\n"])
# (spec 12.1.6)
def test_an_empty_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(content)
    with pytest.raises(ConfigurationRejected, match="empty"):
        configuration_of(parse_flags([f"--config={path}"]))


def test_a_directory_is_no_file_and_a_huge_file_is_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationRejected, match="Is a directory"):
        configuration_of(parse_flags([f"--config={tmp_path}"]))
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"#" * (BYTES_AT_MOST + 1))
    with pytest.raises(ConfigurationRejected, match="larger than"):
        configuration_of(parse_flags([f"--config={huge}"]))


def test_a_file_given_as_directory_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text(HEADER)
    with pytest.raises(ConfigurationRejected, match="Not a directory"):
        configuration_of(parse_flags([f"--config-dir={path}"]))
