"""`docs/probe-states.md`, drawn from the table of `actors.probe_state`: a picture, and every rule with its reason.

Written by `python -m actors.probe_state_page > docs/probe-states.md`; a test says when that is due.
"""

from __future__ import annotations

from actors.probe_state import TABLE, Stage

_HEAD = """# The states of a probe

This page is drawn from the table in `actors/probe_state.py`, which has the theory of operation:
`python -m actors.probe_state_page > docs/probe-states.md`. Thresholds, times and texts are in `actors/probe_rules.py`;
who asks is `actors/probe_runner.py`, a child of the pod's worker.
"""
_RULES = """Of several rules for one event the first whose condition holds applies. What only stays, because nothing has
changed, is left out."""
_NOTHING_NEW = frozenset({"as before", "it is over", "a timer of before", "an answer of before"})


def diagram() -> str:
    """The moves between states, as a Mermaid state diagram. Moves to `absent` and `over` are those of every state."""
    edges: dict[tuple[Stage, Stage], list[str]] = {}
    for (stage, event), rules in TABLE.items():
        for rule in rules:
            if rule.target is not stage:
                label = event.__name__ + (f" [{rule.when}]" if rule.when else "")
                edges.setdefault((stage, rule.target), []).append(label)
    lines = ["stateDiagram-v2", f"    [*] --> {Stage.ABSENT.value}"]
    lines += [f"    {stage.value} --> {target.value}: {', '.join(labels)}" for (stage, target), labels in edges.items()]
    return "\n".join([*lines, f"    {Stage.OVER.value} --> [*]"])


def table() -> str:
    """Every rule that does something, one line each, as a Markdown table."""
    lines = ["| in | meets | when | goes to | because |", "|---|---|---|---|---|"]
    for (stage, event), rules in TABLE.items():
        for rule in rules:
            if rule.target is stage and rule.why in _NOTHING_NEW:
                continue
            target = "(stays)" if rule.target is stage else rule.target.value
            lines.append(f"| {stage.value} | {event.__name__} | {rule.when} | {target} | {rule.why} |")
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    return f"{_HEAD}\n```mermaid\n{diagram()}\n```\n\n{_RULES}\n\n{table()}\n"


if __name__ == "__main__":
    print(page(), end="")
