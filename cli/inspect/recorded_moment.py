"""A moment of a record: the agent as it was then, for questions."""

from __future__ import annotations

from actors.records.folder import runs_in
from actors.replays.player import RunPlayer
from actors.replays.record_replay import RecordReplay
from cli.inspect.explanation import Explanation
from cli.inspect.local_views import explanation
from cli.recorded_runs import run_at
from cli.silence import silence


def explanation_from(folder: str, pod: str, at: str | None) -> Explanation:
    """What the agent would have said of the pod at that time; None: at the end.

    Raises NoSuchPodError, and NoRecordError or FormatError for a record that cannot be played to that time.
    """
    with silence():
        return explanation(player_at(folder, at).node, pod)


def player_at(folder: str, at: str | None) -> RunPlayer:
    """The last agent that had begun by then, played up to that time; None: to its end."""
    runs = runs_in(folder)
    if at is None:
        player = RunPlayer(runs[-1], lambda _: None)
        player.play_while_alive()
        return player
    run, wall_ns = run_at(runs, at)
    replay = RecordReplay(run, None)
    replay.until_ns(wall_ns - replay.began_wall_ns)
    return replay.player
