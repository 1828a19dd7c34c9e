"""How a node is shown: in every form, what a person must copy is complete."""

from __future__ import annotations

import io
import json
import logging
from dataclasses import replace

from rich.console import Console

from actors.kernel import SystemReport
from actors.messages.pods import SourceProblem
from cli.up.progress import ClusterProgress, ProgressSnapshot
from cli.up.screens import ACTORS_KEY, HELP_KEY, Headings, JsonScreen, LineScreen, LiveScreen
from tests.cli.inspect.test_tables import actor
from tests.config.pods_made import pod, running, waiting

PATH = "/tmp/actorlet-with-a-name-that-is-longer-than-the-terminal-is-wide/kubeconfig"
LOOK = ProgressSnapshot(
    (pod({"phase": "Running", "containerStatuses": [running("c0")]}),), (), (), SystemReport((), (), (), 0), 0
)
OUTCOME = ClusterProgress(True, True, ())


def live(kubeconfig: str) -> str:
    console = Console(file=io.StringIO(), width=60, height=30)
    with console.capture() as captured:
        console.print(LiveScreen(console, Headings("a node", kubeconfig)).drawn(LOOK, OUTCOME))
    return captured.get()


def test_the_live_table_has_it_below_the_title() -> None:
    lines = [line.rstrip() for line in live(PATH).splitlines()]
    assert lines[0] == "a node"
    assert "".join(lines[1 : lines.index("")]).replace(" ", "") == f"exportKUBECONFIG={PATH}"
    assert "KUBECONFIG" not in live("")


def test_it_fits_a_small_screen_however_long_the_title_is() -> None:
    console = Console(file=io.StringIO(), width=40, height=24)
    actors = tuple(actor(f"/node/actor-{number}") for number in range(30))
    look = ProgressSnapshot(LOOK.pods, (), (), SystemReport(actors, (), (), 0), 0)
    screen = LiveScreen(console, Headings("a node " * 20, PATH, f"http://{PATH}", "try this " * 10))
    screen.press(ACTORS_KEY)
    with console.capture() as captured:
        console.print(screen.drawn(look, OUTCOME))
    lines = captured.get().splitlines()
    assert len(lines) < 24
    assert any(line.startswith(("... and", "30 actors")) for line in lines)
    assert lines[-2].startswith("q ends it")
    assert not lines[-1]


def test_actors_with_nothing_to_tell_are_hidden_until_somebody_asks() -> None:
    actors = (actor("/node"), actor("/node/quiet"), actor("/node/failed", last_failure="oh"))
    look = replace(LOOK, report=SystemReport(actors, (), (), 0))
    console = Console(file=io.StringIO(), width=100, height=40)
    screen = LiveScreen(console, Headings("a node", hint="try explain"))

    def shown() -> str:
        with console.capture() as captured:
            console.print(screen.drawn(look, OUTCOME))
        return captured.get()

    assert "quiet" not in shown()
    assert "failed" in shown()
    screen.press(ACTORS_KEY)
    assert "quiet" in shown()
    assert "shows or hides" not in shown()
    screen.press(HELP_KEY)
    assert "a shows or hides all actors" in shown()
    assert "try explain" in shown(), "the one pod runs"
    look = replace(look, pods=(pod({"phase": "Pending", "containerStatuses": [waiting("c0", "ContainerCreating")]}),))
    assert "try explain" not in shown(), "it is too early"


def test_warnings_about_a_pod_go_with_it() -> None:
    console = Console(file=io.StringIO(), width=100, height=40)
    screen = LiveScreen(console, Headings("a node"))
    stays = "Pod default/another Duplicate: refused"
    (one,) = LOOK.pods
    name = f"{one.metadata.namespace}/{one.metadata.name}"
    gone = f"Pod {name} BackOff: restarting"
    with screen:
        for line in (gone, stays):
            logging.getLogger("actorlet").warning(line)
        shown = []
        for look in (LOOK, replace(LOOK, pods=())):
            with console.capture() as captured:
                console.print(screen.drawn(look, OUTCOME))
            shown.append([line in captured.get() for line in (gone, stays)])
    assert shown == [[True, True], [False, True]]


def drawn(look: ProgressSnapshot, *, width: int = 80, height: int = 24) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height)
    with console.capture() as captured:
        console.print(LiveScreen(console, Headings("a node", PATH)).drawn(look, OUTCOME))
    return [line.rstrip() for line in captured.get().splitlines()]


BROKEN = SourceProblem(
    "file",
    "/etc/kubernetes/manifests/a-manifest-with-a-long-name.yaml:11",
    "$.spec.containers[0].resources.limits.memory",
    "'12Q' is not a quantity: 'Q' is not a suffix; use one of n u m k M G T P E Ki Mi Gi Ti Pi Ei; write a number",
)


def test_at_80_columns_the_reason_why_a_manifest_is_broken_is_there_whole() -> None:
    lines = drawn(replace(LOOK, problems=(BROKEN,)))
    assert all(len(line) <= 80 for line in lines)
    assert str(BROKEN).replace(" ", "") in "".join(lines).replace(" ", "")


def test_whatever_does_not_fit_is_counted() -> None:
    pods = tuple(pod({"phase": "Pending" if number == 37 else "Running"}, name=f"web-{number}") for number in range(40))
    warned = SourceProblem("file", "/m/b.yaml:1", "$.x", "this field is not known here", fatal=False)
    lines = drawn(replace(LOOK, pods=pods, problems=(warned, *[BROKEN] * 9)))
    assert len(lines) <= 24
    shown = sum(line.startswith("default") for line in lines)
    assert shown >= 3
    assert f"... and {40 - shown} more" in lines
    assert any("web-37" in line for line in lines), "a pod that is not ready goes before those that are"
    told = sum(line.startswith("/etc/kubernetes/manifests") for line in lines)
    assert f"... and {10 - told} more problems; `actorlet check DIR` lists those of manifests" in lines
    assert not any("/m/b.yaml" in line for line in lines), "faults go before warnings"


def test_lines_begin_with_it() -> None:
    out = io.StringIO()
    with LineScreen(out, "a node", PATH) as screen:
        screen.show(LOOK, OUTCOME)
    assert out.getvalue().splitlines()[:3] == ["a node", f"export KUBECONFIG={PATH}", "pod default/web: 1/1 Running"]


def test_json_has_it_in_every_document() -> None:
    out = io.StringIO()
    with JsonScreen(out, False, PATH) as screen:
        screen.show(LOOK, OUTCOME)
    assert json.loads(out.getvalue())["kubeconfig"] == PATH
    with JsonScreen(out := io.StringIO(), False) as screen:
        screen.show(LOOK, OUTCOME)
    assert "kubeconfig" not in json.loads(out.getvalue())
