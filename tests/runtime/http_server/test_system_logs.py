"""The logs of the node: files beneath one directory, and the journal by query."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from runtime.files.beneath import open_beneath
from runtime.http_server.heads import HttpRefusal, query_of
from runtime.http_server.listener import HttpListener
from runtime.http_server.log_query import LogQuery, is_log_query, journal_command, log_query
from runtime.http_server.system_logs import SystemLogPlaces, SystemLogs
from tests.attacks.words import WORDS, raw_characters
from tests.runtime.http_server.clients import ask, listening

JOURNAL = """#!/bin/sh
case "$*" in
*--unit=none*) echo "-- No entries --" ;;
*) echo "$@" ;;
esac
"""


@pytest.fixture
def places(tmp_path: Path) -> SystemLogPlaces:
    logs = tmp_path / "log"
    (logs / "deep").mkdir(parents=True)
    (logs / "messages").write_text("line\n" * 50_000)
    (logs / "deep" / "a b").write_text("deep\n")
    (logs / "none.log").write_text("of no journal\n")
    (tmp_path / "secret").write_text("secret")
    (logs / "inside").symlink_to("deep/a b")
    (logs / "whole").symlink_to(logs / "deep")
    (logs / "outside").symlink_to("../secret")
    (logs / "absolute").symlink_to(tmp_path / "secret")
    (logs / "round").symlink_to("round")
    os.mkfifo(logs / "pipe")
    journalctl = tmp_path / "journalctl"
    journalctl.write_text(JOURNAL)
    journalctl.chmod(0o755)
    return SystemLogPlaces(str(logs), str(journalctl), queries=True)


@contextmanager
def serving(places: SystemLogPlaces) -> Iterator[HttpListener]:
    logs = SystemLogs(places)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        path = None if request.path == "/logs" else request.path.removeprefix("/logs/")
        return await logs.answer(request, path, query_of(request.rel_url.raw_query_string))

    with listening(answer) as listener:
        yield listener
    logs.close()


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("", 200, '<a href="messages">messages</a>'),
        ("messages", 200, "line"),
        ("deep", 301, ""),
        ("deep/", 200, '<a href="a%20b">a b</a>'),
        ("deep/a%20b", 200, "deep"),
        ("inside", 200, "deep"),
        ("whole/a%20b", 200, "deep"),
        ("outside", 403, "leads out"),
        ("absolute", 403, "leads out"),
        ("round", 403, "symbolic links"),
        ("pipe", 403, "neither a plain file nor a directory"),
        ("nothing", 404, "there is no /nothing"),
        ("messages/more", 404, "there is no"),
        ("deep/%2e%2e/%2e%2e/secret", 403, "leads out"),
    ],
)
# (spec 11.5.1)
def test_files_beneath_the_directory_and_nothing_else(
    places: SystemLogPlaces, path: str, status: int, told: str
) -> None:
    with serving(places) as listener:
        answer = ask(listener.port, f"/logs/{path}")
        assert answer.status == status
        assert told in answer.body
        assert "secret" not in answer.body.replace("/secret", "")


def test_names_of_files_turn_and_mark_up_nothing(places: SystemLogPlaces) -> None:
    name = f"x{WORDS.replace('/', '')}"
    (Path(places.directory) / name).write_text("evil\n")
    (Path(places.directory) / os.fsdecode(b"\xff\xfe")).write_text("odd\n")
    with serving(places) as listener:
        listed = ask(listener.port, "/logs/").body
        assert not raw_characters(listed.replace("\r\n", ""))
        assert "owned" in listed
        assert "<b>" not in listed
        assert '<a href="%FF%FE">\\udcff\\udcfe</a>' in listed
        (link,) = re.findall(r'href="(x[^"]*)"', listed)
        assert ask(listener.port, f"/logs/{link}").body == "evil\n"


def test_a_large_file_comes_whole_and_its_head_alone(places: SystemLogPlaces) -> None:
    with serving(places) as listener:
        assert ask(listener.port, "/logs/messages").body == "line\n" * 50_000
        head = ask(listener.port, "/logs/messages", "HEAD")
        assert "Content-Length: 250000" in head.head
        assert head.body == ""


def test_a_walk_ends_where_the_root_is(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for path in ("..", "../root", "a/../../b"):
        with pytest.raises((PermissionError, FileNotFoundError)):
            open_beneath(str(tmp_path / "root"), path)


# (spec 11.5.1)
def test_the_journal_is_asked_for_what_was_asked(places: SystemLogPlaces) -> None:
    with serving(places) as listener:
        answer = ask(listener.port, "/logs/?query=kubelet&query=crio&tailLines=5&pattern=err.r&boot=-1")
        assert "--unit=kubelet --unit=crio --grep=err.r --case-sensitive=false --boot=-1" in answer.body
        packed = ask(listener.port, "/logs/?query=kubelet", Accept_Encoding="gzip")
        assert "Content-Encoding: gzip" in packed.head
        chunk = packed.body.encode("latin-1").split(b"\r\n", 1)[1]
        assert b"--unit=kubelet" in gzip.decompress(chunk[: chunk.index(b"\r\n0\r\n")])


# (spec 11.5.2)
def test_a_service_without_a_journal_may_have_a_file(places: SystemLogPlaces) -> None:
    with serving(places) as listener:
        assert ask(listener.port, "/logs/?query=none").body == "of no journal\n"
        assert "No entries" in ask(listener.port, "/logs/?query=none&tailLines=3").body
        assert ask(listener.port, "/logs/?query=/messages").body.startswith("line\n")
        assert ask(listener.port, "/logs/?query=/../secret").status == 403
        assert ask(listener.port, "/logs/?query=kubelet", "HEAD").status == 405


# (spec 11.5.1)
def test_without_the_switch_a_query_is_no_query(places: SystemLogPlaces) -> None:
    with serving(SystemLogPlaces(places.directory, places.journalctl)) as listener:
        assert "messages" in ask(listener.port, "/logs/?query=kubelet").body


def test_a_journal_that_cannot_be_asked_says_so(places: SystemLogPlaces) -> None:
    with serving(SystemLogPlaces(places.directory, "/no/journalctl", queries=True)) as listener:
        answer = ask(listener.port, "/logs/?query=kubelet")
        assert (answer.status, answer.body) == (500, "/no/journalctl cannot be run: No such file or directory")


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("tailLines=5", "query: is required"),
        ("query=a&query=/b", "services and a file"),
        ("query=/a&query=/b", "more than one file"),
        ("query=/a&tailLines=1", "no other option"),
        ("query=a&query=b&query=c&query=d&query=e", "more than 4"),
        ("query=a%20b", "not the name of a service"),
        ("query=-x", "not the name of a service"),
        (f"query={'a' * 257}", "not the name of a service"),
        ("query=a&sinceTime=yesterday", "sinceTime: 'yesterday' is not a time"),
        ("query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z", "is after untilTime"),
        ("query=a&tailLines=100001", "from 0 to 100000"),
        ("query=a&tailLines=-1", "from 0 to 100000"),
        ("query=a&pattern=(", "is not a regular expression"),
        ("query=a&boot=1", "boot:"),
    ],
)
# (spec 11.5.3)
def test_an_invalid_log_query_is_400_with_its_fault(query: str, fault: str) -> None:
    with pytest.raises(HttpRefusal) as refused:
        log_query(query_of(query))
    assert refused.value.status == 400
    assert fault in refused.value.text


# (spec 11.5.1)
def test_a_query_becomes_a_command() -> None:
    asked = query_of("query=a&sinceTime=2026-01-01T00:00:00Z&untilTime=2026-01-02T00:00:00Z&tailLines=7")
    assert is_log_query(asked)
    assert not is_log_query(query_of("x=1"))
    assert log_query(asked) == LogQuery(("a",), "", 1767225600 * 10**9, 1767312000 * 10**9, 7)
    assert journal_command("journalctl", log_query(asked)) == (
        "journalctl",
        "--utc",
        "--no-pager",
        "--output=short-precise",
        "--since=2026-01-01 00:00:00",
        "--until=2026-01-02 00:00:00",
        "--pager-end",
        "--lines=7",
        "--unit=a",
    )
