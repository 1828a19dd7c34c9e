"""Removing logs from a real disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.objects import ObjectMeta, Pod
from runtime.logs.pod_logs import (
    DeadLink,
    LocalPodLogs,
    link_path,
    log_link,
    log_path,
    pod_log_directory,
    uid_of_log_directory,
)


@pytest.fixture
def logs(tmp_path: Path) -> LocalPodLogs:
    return LocalPodLogs(str(tmp_path / "pods"), str(tmp_path / "containers"))


def make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    return path


# (spec 3.7.6)
def test_names_of_directories_and_links():
    directory = pod_log_directory("/var/log/pods/", "ns", "web", "uid-1")
    assert directory == "/var/log/pods/ns_web_uid-1"
    assert uid_of_log_directory(directory) == "uid-1"
    assert uid_of_log_directory("/var/log/pods/lost+found") is None
    assert log_link("/c", "web", "ns", "app", "id1") == "/c/web_ns_app-id1.log"
    assert len(log_link("/c", "w" * 300, "ns", "app", "id1")) == len("/c/") + 255


# (spec 3.7.6, 16.3)
def test_log_and_link_of_a_container():
    pod = Pod(metadata=ObjectMeta(name="web", namespace="shop"))
    assert log_path("web", 3) == "web/3.log"
    assert link_path("/l", pod, "c", "id") == "/l/web_shop_c-id.log"
    assert len(link_path("/l", pod, "c" * 300, "id").rpartition("/")[2]) == 255


def test_missing_directories_are_empty(logs: LocalPodLogs):
    assert logs.list_pods() == ()
    assert logs.dead_links() == ()
    logs.remove_container("/nowhere", 0, ("/nowhere/link",))


# (spec 3.12.5)
def test_only_links_of_ours_that_lead_nowhere_are_dead(logs: LocalPodLogs, tmp_path: Path):
    target = make(tmp_path / "pods" / "ns_web_1" / "app" / "0.log")
    links = tmp_path / "containers"
    links.mkdir()
    (links / "web_ns_app-alive.log").symlink_to(target)
    (links / "web_ns_app-dead.log").symlink_to(tmp_path / "pods" / "ns_web_1" / "app" / "1.log")
    (links / "of-another-agent-dead.log").symlink_to(tmp_path / "elsewhere" / "0.log")
    make(links / "plain.log")
    assert logs.dead_links() == (DeadLink(str(links / "web_ns_app-dead.log"), "dead"),)


def test_the_log_of_one_attempt_goes_with_its_rotated_ones(logs: LocalPodLogs, tmp_path: Path):
    directory = tmp_path / "pods" / "ns_web_1" / "app"
    for name in ("1.log", "1.log.20260101-000000.gz", "11.log", "2.log"):
        make(directory / name)
    link = tmp_path / "containers" / "web_ns_app-1.log"
    link.parent.mkdir()
    link.symlink_to(directory / "1.log")
    message = make(tmp_path / "messages" / "00000001")
    logs.remove_container(str(directory), 1, (str(link), str(message)))
    assert sorted(path.name for path in directory.iterdir()) == ["11.log", "2.log"]
    assert not link.is_symlink()
    assert not message.exists()


def test_all_of_a_pod_goes_and_nothing_else_can(logs: LocalPodLogs, tmp_path: Path):
    make(tmp_path / "pods" / "ns_web_1" / "app" / "0.log")
    other = make(tmp_path / "other" / "file")
    link = tmp_path / "link"
    link.symlink_to(other)
    logs.remove_pod(str(tmp_path / "pods" / "ns_web_1"), (str(link),))
    assert logs.list_pods() == ()
    assert not link.is_symlink()
    logs.remove_pod(str(tmp_path / "pods" / "ns_web_1"))
    for path in (other.parent, tmp_path / "pods", tmp_path / "pods" / ".." / "other", Path("/")):
        with pytest.raises(PermissionError):
            logs.remove_pod(str(path))
    assert other.exists()
