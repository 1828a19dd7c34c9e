"""A kubeconfig read from its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.credentials.kubeconfig import Pem, kubeconfig_document
from config.documents.codec import DocumentError
from runtime.api.access import BYTES_AT_MOST, read_access


def test_paths_in_it_begin_at_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_bytes(kubeconfig_document("https://x", certificate_authority=Pem("ca.crt")))
    monkeypatch.chdir(tmp_path)
    assert read_access("config").cluster.certificate_authority == Pem(str(tmp_path / "ca.crt"))
    assert read_access(str(tmp_path / "config"), "actorlet").context == "actorlet"


def test_an_unreadable_kubeconfig_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="missing: No such file or directory"):
        read_access(str(tmp_path / "missing"))
    with pytest.raises(DocumentError, match="Is a directory"):
        read_access(str(tmp_path))
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(DocumentError, match="the document is empty"):
        read_access(str(tmp_path / "empty"))
    (tmp_path / "large").write_bytes(b"#" * (BYTES_AT_MOST + 1))
    with pytest.raises(DocumentError, match="larger than 4 MiB"):
        read_access(str(tmp_path / "large"))
