"""`docs/pod-lifecycle.md`, drawn from the table of `actors.pod_lifecycle`: a picture, and every rule with its reason.

Written by `python -m actors.pod_lifecycle_page > docs/pod-lifecycle.md`; a test says when that is due.
"""

from __future__ import annotations

from actors.pod_lifecycle import TABLE, Stage

_HEAD = """# The life of a pod

This page is drawn from the table in `actors/pod_lifecycle.py`, which has the theory of operation:
`python -m actors.pod_lifecycle_page > docs/pod-lifecycle.md`.
"""


def diagram() -> str:
    """The moves between stages, as a Mermaid state diagram. Rules that stay where they are are left to the table."""
    edges: dict[tuple[Stage, Stage], list[str]] = {}
    for (stage, event), rules in TABLE.items():
        for rule in rules:
            if rule.target is not stage:
                label = event.__name__ + (f" [{rule.when}]" if rule.when else "")
                edges.setdefault((stage, rule.target), []).append(label)
    lines = ["stateDiagram-v2", f"    [*] --> {Stage.WAITING.value}"]
    lines += [f"    {stage.value} --> {target.value}: {', '.join(labels)}" for (stage, target), labels in edges.items()]
    return "\n".join([*lines, f"    {Stage.FINISHED.value} --> [*]"])


def table() -> str:
    """Every rule, one line each, as a Markdown table."""
    lines = ["| in | meets | when | goes to | because |", "|---|---|---|---|---|"]
    for (stage, event), rules in TABLE.items():
        for rule in rules:
            target = "(stays)" if rule.target is stage else rule.target.value
            lines.append(f"| {stage.value} | {event.__name__} | {rule.when} | {target} | {rule.why} |")
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    rules = "Of several rules for one event the first whose condition holds applies. What is not listed cannot happen."
    return f"{_HEAD}\n```mermaid\n{diagram()}\n```\n\n{rules}\n\n{table()}\n"


if __name__ == "__main__":
    print(page(), end="")
