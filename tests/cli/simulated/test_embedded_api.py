"""The embedded API server of commands leaves nothing behind, whatever else is in its directory."""

from __future__ import annotations

import os
from pathlib import Path

from cli.simulated.embedded_api import ApiServerOptions, embedded_api, write_kubeconfig
from config.credentials.kubeconfig import Pem
from config.pods.verdicts.verdict import Verdict, verdicts_of
from runtime.api.access import read_access
from simulation.apiserver.requests.bodies import JSON
from simulation.apiserver.requests.calls import ApiRequest, ApiUser
from tests.real.waiting import until

ADMIN = ApiUser("admin", ("system:masters", "system:authenticated"))


def test_a_run_leaves_nothing_where_others_keep_their_files(tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "kubeconfig").write_text("of an earlier run")
    options = ApiServerOptions(str(tmp_path / "apiserver"), str(tmp_path / "kubeconfig"), nodes=("n1",))
    with embedded_api(options) as api:
        assert read_access(api.kubeconfig).cluster.server == api.url
        assert Path(api.node_kubeconfigs["n1"]).is_file()
        for path in tmp_path.rglob("*"):
            assert path.is_dir() or path.suffix == ".crt" or path.stat().st_mode & 0o077 == 0, path
    assert [path.name for path in tmp_path.iterdir()] == ["pods"]


def test_a_kubeconfig_among_the_files_of_others_is_written_through_no_link_of_theirs(tmp_path: Path) -> None:
    """Somebody who may write beside it links every name that the temporary file has had."""
    victim, path = tmp_path / "victim", tmp_path / "kubeconfig"
    victim.write_text("theirs")
    for name in (f"kubeconfig.{os.getpid()}", f"kubeconfig.{os.getpid()}.part", ".kubeconfig.new", "kubeconfig"):
        (tmp_path / name).symlink_to(victim)
    write_kubeconfig(str(path), "https://127.0.0.1:1", "someone", "secret", Pem())
    assert victim.read_text() == "theirs"
    assert path.stat(follow_symlinks=False).st_mode & 0o7777 == 0o600


def test_no_two_runs_have_the_same_secrets(tmp_path: Path) -> None:
    tokens = set()
    for name in ("a", "b"):
        options = ApiServerOptions(str(tmp_path / name), str(tmp_path / f"{name}.kubeconfig"))
        with embedded_api(options) as api:
            tokens.add(read_access(api.kubeconfig).user.token)
    assert len(tokens) == 2
    assert all(len(token) >= 32 for token in tokens)


def test_pods_that_no_node_took_are_told_with_the_words_of_the_scheduler(tmp_path: Path) -> None:
    options = ApiServerOptions(str(tmp_path / "apiserver"), str(tmp_path / "kubeconfig"))
    containers = [{"name": "app", "image": "i", "resources": {"requests": {"cpu": "1000"}}}]
    pod = {"metadata": {"name": "large"}, "spec": {"containers": containers}}
    with embedded_api(options) as api:
        asked = ApiRequest("POST", "/api/v1/namespaces/default/pods", (), pod, JSON, ADMIN)
        assert api.server.handle(asked).code == 201

        def verdict() -> Verdict | None:
            return next((one for each in api.pods_without_node() for one in verdicts_of(each)), None)

        def has_been_tried() -> bool:
            told = verdict()
            return told is not None and told.cause == "Unschedulable"

        until(has_been_tried, 10, lambda: str(verdict()))
        (large,) = api.pods_without_node()
        assert large.metadata.name == "large"
        assert "no nodes available" in str(verdict())
