"""What the tables show, drawn without colour on a wide screen."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from actors.kernel import ActorInfo
from actors.messages.pods import PullInProgress
from cli.inspect.tables import actor_table, pod_table, pull_table
from config.pods.words import PodLine


def drawn(table: RenderableType) -> list[list[str]]:
    """The rows as words."""
    out = io.StringIO()
    Console(file=out, width=200).print(table)
    return [line.split() for line in out.getvalue().splitlines()]


def actor(path: str, **more: object) -> ActorInfo:
    facts: dict[str, object] = {
        name: 0 if kind == "int" else "" for name, kind in ActorInfo.__annotations__.items() if name != "path"
    }
    return ActorInfo(path=path, **{**facts, "state": "idle", **more})  # type: ignore[arg-type]  # made by name


def test_pods_look_as_kubectl_shows_them() -> None:
    line = PodLine("default", "web", "1/2", "Running", "3 (20s ago)", "5m", "")
    assert drawn(pod_table([line])) == [
        ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP"],
        ["default", "web", "1/2", "Running", "3", "(20s", "ago)", "5m", "-"],
    ]


def test_actors_of_pods_go_by_the_name_of_the_pod() -> None:
    rows = drawn(
        actor_table(
            [actor("/node"), actor("/node/uid-1", mailbox_depth=2, oldest_age_ns=5_000_000)], {"uid-1": "default/web"}
        )
    )
    assert rows[2][:4] == ["default/web", "idle", "2", "5ms"]


def test_a_short_screen_shows_the_troubled_first_and_says_what_it_leaves_out() -> None:
    actors = [
        actor("/"),
        actor("/a"),
        actor("/b"),
        actor("/b/x", last_failure="KeyError: 1\nmore"),
        actor("/c", handled=9),
    ]
    rows = drawn(actor_table(actors, {}, at_most=3))
    assert [row[0] for row in rows[1:]] == ["/", "b", "x", "..."]
    assert rows[3][-2:] == ["KeyError:", "1"]
    assert rows[4] == ["...", "and", "2", "more"]


def test_a_narrow_screen_has_a_line_for_each_actor_and_keeps_its_name() -> None:
    actors = [
        actor("/node"),
        actor("/node/status-manager", slowest_ns=1_400_000, slowest_handler="PodStatusChanged(pod)"),
        actor("/node/sync-loop", waiting_for="storage", handled=1_000),
    ]
    out = io.StringIO()
    Console(file=out, width=80).print(actor_table(actors, {}, at_most=9))
    heading, _, manager, loop = out.getvalue().splitlines()
    assert "LAST FAILURE" not in heading
    assert manager.startswith("  status-manager ")
    assert manager.rstrip().endswith("…")
    assert (loop.split()[0], loop.split()[-2:]) == ("sync-loop", ["1000", "0"])


def test_pulls_say_whether_they_have_begun() -> None:
    pulls = [
        PullInProgress("busybox", 1_500_000_000, True, ("a/b", "a/c")),
        PullInProgress("nginx", 0, False, ("a/d",)),
    ]
    assert drawn(pull_table(pulls))[1:] == [
        ["busybox", "pulling", "1.5s", "a/b,", "a/c"],
        ["nginx", "in", "line", "0.0s", "a/d"],
    ]
