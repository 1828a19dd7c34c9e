"""A moment of a record: the agent as it was then, for questions."""

from __future__ import annotations

from actors.records.folder import NoRecordError, runs_in
from actors.replays.player import RunPlayer
from actors.replays.record_replay import RecordReplay
from cli.inspect.explanation import Explanation
from cli.inspect.local_views import explanation
from cli.moments import shown, wall_ns_of
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
    run = runs[-1]
    wall_ns = None
    if at is not None:
        wall_ns = wall_ns_of(at, runs[0].header.began_wall_ns)
        begun = [each for each in runs if each.header.began_wall_ns <= wall_ns]
        if not begun:
            raise NoRecordError(f"the record begins only at {shown(runs[0].header.began_wall_ns)}")
        run = begun[-1]
    if wall_ns is None:
        player = RunPlayer(run, lambda _: None)
        player.play_while_alive()
        return player
    replay = RecordReplay(run, lambda _: None)
    replay.until_ns(wall_ns - replay.began_wall_ns)
    return replay.player
