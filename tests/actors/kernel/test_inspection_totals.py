"""What actors have done is known after they have stopped, by class."""

from __future__ import annotations

from actors.kernel import Actor, ActorSystem, Message, SimulatedDispatcher, handles


class Count(Message, frozen=True):
    """A message to count."""


class Counter(Actor):
    """Handles and forgets."""

    def __init__(self) -> None:
        super().__init__()

    @handles(Count)
    def count(self, _: Count) -> None:
        return


def test_totals_include_messages_handled_by_stopped_actors() -> None:
    dispatcher = SimulatedDispatcher(seed=1)
    system = ActorSystem(dispatcher)
    for name in ("one", "two"):
        ref = system.spawn(Counter, name=name)
        for _ in range(3):
            ref.tell(Count())
    dispatcher.run_until_idle()
    assert sum(each.handled for each in system.report().actors if each.actor_class == "Counter") == 6
    ref.stop()
    dispatcher.run_until_idle()
    report = system.report()
    assert [(each.actor_class, each.handled, each.restarts) for each in report.ended] == [("Counter", 3, 0)]
    assert sum(each.handled for each in report.actors if each.actor_class == "Counter") == 3
