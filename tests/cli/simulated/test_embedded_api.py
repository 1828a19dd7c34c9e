"""The embedded API server of commands leaves nothing behind, whatever else is in its directory."""

from __future__ import annotations

import os
from pathlib import Path

from cli.simulated.embedded_api import ApiServerOptions, embedded_api, write_kubeconfig
from config.credentials.kubeconfig import Pem
from runtime.api.access import read_access


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
