"""The page of one run for `--report`: one file of HTML that needs nothing else.

Pure. Every text that comes from a run is made harmless, and the page's own policy forbids whatever is loaded from
elsewhere. A pod is broken if the text of a violation names it: it is marked in the timeline and in the table of pods,
and the violation links to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cli.simulate.run_story import GONE, PodStory, Story
from cli.simulate.trace_lines import readable
from config.values.harmless_text import harmless_html

SECOND_NS = 10**9
PODS_DRAWN = 100
PODS_LISTED = 2000
WAYS_LISTED = 200
LINES_LISTED = 100
STATES = ("Pending", "Running", "Ready", "Terminating", "Succeeded", "Failed")
_LEFT, _WIDTH, _ROW, _TOP = 190, 1000, 20, 30
_NAME_ROWS, _NAME_ROW, _LETTER, _NAME_AT_MOST = 8, 14, 6.2, 48
"""Of the names of faults above the pods: rows, their height, width of a letter, most letters."""

_STYLE = """
:root{color-scheme:light dark;--line:#8886;--bad:#c62828;--Pending:#bdbdbd;--Running:#64b5f6;--Ready:#43a047;
--Terminating:#ffb300;--Succeeded:#5e35b1;--Failed:#c62828;--fault:#8e24aa}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:75rem;padding:0 1rem 3rem}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}
.bad,.bad a{color:var(--bad);font-weight:600}@media(prefers-color-scheme:dark){:root{--bad:#ff8a80;--fault:#ce93d8}
body{background:#12161d;color:#e4e8ee}}
.wide{overflow-x:auto}svg{min-width:44rem;width:100%;height:auto;display:block}a{color:inherit}
svg .name{fill:var(--fault)}svg text.bad{fill:var(--bad)}:target{background:#ffb30044}
svg text{font-size:12px;fill:currentColor}
.tick,.fault{stroke:var(--line)}.fault{stroke:var(--fault);stroke-dasharray:3 3}
.broken{stroke:var(--bad);stroke-width:2}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.2rem .6rem;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
td.n{text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums}th.n{text-align:right}th,#pods td:nth-child(2){white-space:nowrap}
@media(max-width:600px){th,td{padding:.2rem .3rem;font-size:.8rem}th,#pods td:nth-child(2){white-space:normal}
}
.key>span{white-space:nowrap;margin-right:1em}
.key i{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8rem}input{font:inherit;max-width:100%;padding:.3rem}
"""
SCRIPT = """
for (const box of document.querySelectorAll("input[data-of]")) box.addEventListener("input", () => {
  const words = box.value.toLowerCase();
  for (const row of document.getElementById(box.dataset.of).tBodies[0].rows)
    row.hidden = !row.textContent.toLowerCase().includes(words);
});
"""
_WORDS = re.compile(r"([-a-z0-9.]+)")
"""What may have the name of a pod, with stops around it."""
_STOPS = "-."
_NONE: Mapping[str, str] = {}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'"
HEAD = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    '<meta name="viewport" content="width=device-width,initial-scale=1">'
    f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    f"<style>{_STYLE.replace('{', '{{').replace('}', '}}')}</style></head><body><main>"
)
"""The beginning of a page, to be formatted with its title, which is harmless."""


def page(story: Story, name: str, origin: str = "") -> str:
    """`name`: of the scenario. `origin`: of which run it is the smallest, or empty."""
    title = f"{name}, seed {story.seed}"
    broken = _broken(story)
    parts = (
        HEAD.format(title=harmless_html(title)),
        f"<h1>{harmless_html(title)}</h1><p>{harmless_html(story.about)}</p>",
        *([f'<p id="origin">This is {harmless_html(origin)}.</p>'] if origin else []),
        *_result(story, broken),
        *_timeline(story, broken),
        *_pods(story, broken),
        *_faults(story),
        *_messages(story),
        f"</main><script>{SCRIPT}</script></body></html>\n",
    )
    return "\n".join(parts)


def _broken(story: Story) -> Mapping[str, str]:
    """Name -> the place on the page, for each pod that a violation names."""
    told = {word.strip(_STOPS) for each in story.violations for word in _WORDS.findall(each.what)}
    return {pod.name: f"pod-{number}" for number, pod in enumerate(story.pods.values()) if pod.name in told}


def _linked(text: str, broken: Mapping[str, str]) -> str:
    """The text with a link at each name of a broken pod."""
    return "".join(_link(part, broken) for part in _WORDS.split(text))


def _link(part: str, broken: Mapping[str, str]) -> str:
    name = part.strip(_STOPS)
    if name not in broken:
        return harmless_html(part)
    before, _, after = part.partition(name)
    return f'{before}<a href="#{broken[name]}">{harmless_html(name)}</a>{after}'


def _result(story: Story, broken: Mapping[str, str]) -> Iterator[str]:
    size = f"{len(story.pods)} pods, {story.nodes} nodes, {_s(story.end_ns)} s of virtual time"
    ended = "all became as desired" if story.converged else "it did not come to what is desired"
    yield f"<p>{size}; {ended}.</p>"
    if not story.violations:
        yield '<p id="result">All rules held.</p>'
        return
    yield f'<p id="result" class="bad">{len(story.violations)} violations:</p>'
    rows = [(_s(each.at_ns), each.invariant, each.what) for each in story.violations]
    yield _table("violations", ("at, s", "rule", "what"), rows, links=broken)


def _timeline(story: Story, broken: Mapping[str, str]) -> Iterator[str]:
    pods = list(story.pods.values())
    drawn = [*[pod for pod in pods if pod.name in broken], *[pod for pod in pods if pod.name not in broken]][
        :PODS_DRAWN
    ]
    end_ns = max(1, story.end_ns)
    names = list(_fault_names(story, end_ns))
    top = _TOP + _NAME_ROW * (1 + max((row for row, _ in names), default=-1)) + 6
    height = top + _ROW * len(drawn) + 10
    left_out = f" The first {PODS_DRAWN} of {len(pods)} pods are drawn." if len(pods) > PODS_DRAWN else ""
    yield f"<h2>Timeline</h2><p>The tables below say the same in words.{left_out}</p>"
    key = "".join(f'<span><i style="background:var(--{each})"></i>{each}</span> ' for each in STATES)
    lines = "Dashed line: something goes wrong. Red line: a rule is broken. Red name: a violation names the pod."
    yield f'<p class="key">{key}{lines}</p>'
    label = f"States of {len(drawn)} pods over {_s(end_ns)} seconds, with faults and violations"
    yield '<div class="wide" tabindex="0" role="group" aria-label="The timeline">'
    yield f'<svg id="timeline" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">'
    for at_ns in range(0, end_ns + 1, _tick_ns(end_ns)):
        yield _upright("tick", at_ns, end_ns, height)
        yield f'<text x="{_x(at_ns, end_ns):.1f}" y="14" text-anchor="middle">{at_ns / SECOND_NS:.4g} s</text>'
    for number, pod in enumerate(drawn):
        yield from _bars(pod, top + _ROW * number, end_ns, pod.name in broken)
    for at_ns, what in story.faults:
        yield _upright("fault", at_ns, end_ns, height, f"{_s(at_ns)} s: {what}")
    for each in story.violations:
        yield _upright("broken", each.at_ns, end_ns, height, f"{_s(each.at_ns)} s: {each.invariant}: {each.what}")
    yield from (name for _, name in names)
    yield "</svg></div>"


def _fault_names(story: Story, end_ns: int) -> Iterator[tuple[int, str]]:
    """Row and text of each name of a fault, beside its line.

    Those for which no row is free are in the table alone.
    """
    free_from = [0.0] * _NAME_ROWS
    for at_ns, what in story.faults:
        text = what if len(what) <= _NAME_AT_MOST else f"{what[: _NAME_AT_MOST - 1]}…"
        x, width = _x(at_ns, end_ns), _LETTER * len(text)
        is_left = x + width > _WIDTH
        begins = x - width - 3 if is_left else x + 3
        row = next((row for row, free in enumerate(free_from) if free <= begins), None)
        if row is None:
            continue
        free_from[row] = begins + width + 10
        at = f'x="{x - 3 if is_left else x + 3:.1f}" y="{_TOP + _NAME_ROW * row + 10}"'
        anchor = ' text-anchor="end"' if is_left else ""
        yield row, f'<text class="name" {at}{anchor}>{harmless_html(text)}</text>'


def _tick_ns(end_ns: int) -> int:
    """A round time, so that there are four to ten of them."""
    least = max(1, end_ns // 10)
    power: int = 10 ** (len(str(least)) - 1)
    return next(each * power for each in (1, 2, 5, 10) if each * power >= least)


def _bars(pod: PodStory, y: int, end_ns: int, is_broken: bool) -> Iterator[str]:
    name = pod.name if len(pod.name) <= 26 else f"{pod.name[:25]}…"
    mark = ' class="bad"' if is_broken else ""
    yield f'<text{mark} x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{harmless_html(name)}</text>'
    ends_ns = [at_ns for at_ns, _ in pod.states[1:]] + [end_ns]
    for (at_ns, state), until_ns in zip(pod.states, ends_ns, strict=True):
        if state == GONE:
            continue
        x, told = _x(at_ns, end_ns), f"{pod.name}: {state} from {_s(at_ns)} s to {_s(until_ns)} s"
        colour = f"var(--{state})" if state in STATES else "currentColor"
        width = max(1.0, _x(until_ns, end_ns) - x)
        box = f'x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="{_ROW - 6}" style="fill:{colour}"'
        yield f"<rect {box}><title>{harmless_html(told)}</title></rect>"


def _upright(kind: str, at_ns: int, end_ns: int, height: int, told: str = "") -> str:
    x = _x(at_ns, end_ns)
    line = f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="20" y2="{height}"'
    return f"{line}><title>{harmless_html(told)}</title></line>" if told else f"{line}/>"


def _x(at_ns: int, end_ns: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - 30) * at_ns / end_ns


def _pods(story: Story, broken: Mapping[str, str]) -> Iterator[str]:
    yield f"<h2>Pods</h2>{_filter('pods', 'Show pods with')}"
    rows = [
        (pod.name, pod.node, str(pod.restarts), ", ".join(f"{state} at {_s(at_ns)} s" for at_ns, state in pod.states))
        for pod in list(story.pods.values())[:PODS_LISTED]
    ]
    yield _table("pods", ("pod", "node", "restarts", "states"), rows, marks=broken)


def _faults(story: Story) -> Iterator[str]:
    yield "<h2>Faults</h2>"
    if story.faults:
        yield _table("faults", ("at, s", "what the world did"), [(_s(at_ns), what) for at_ns, what in story.faults])
    else:
        yield "<p>The world did nothing out of the ordinary.</p>"
    if story.failed_calls:
        yield "<h3>Calls that failed</h3>"
        rows = [(str(times), call) for call, times in story.failed_calls.most_common()]
        yield _table("calls", ("times", "call"), rows)


def _messages(story: Story) -> Iterator[str]:
    ways: dict[tuple[str, str], Counter[str]] = {}
    for (sender, receiver, message), times in story.sent.items():
        ways.setdefault((sender, receiver), Counter())[message] += times
    busiest = sorted(ways.items(), key=lambda way: (-way[1].total(), way[0]))[:WAYS_LISTED]
    yield f"<h2>Messages between actors</h2>{_filter('messages', 'Show messages with')}"
    rows = [
        (str(kinds.total()), sender, receiver, ", ".join(f"{name} {times}" for name, times in kinds.most_common()))
        for (sender, receiver), kinds in busiest
    ]
    yield _table("messages", ("times", "from", "to", "messages"), rows)
    yield f"<h2>The last messages before {'the first violation' if story.violations else 'the end'}</h2>"
    lines = "\n".join(harmless_html(readable(line)) for line in story.last_lines[-LINES_LISTED:])
    yield f'<pre id="lines">{lines}</pre>'


def _table(
    name: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    links: Mapping[str, str] = _NONE,
    marks: Mapping[str, str] = _NONE,
) -> str:
    """A table in HTML. Columns of numbers are aligned to the right.

    `links`: words that lead to a place on the page. `marks`: first cells whose rows are marked, with that place.
    """
    numeric = [each in ("at, s", "times", "restarts") for each in heads]
    told = zip(heads, numeric, strict=True)
    head = "".join(f'<th scope="col"{" class=n" if is_number else ""}>{each}</th>' for each, is_number in told)
    body = "".join(
        f"<tr{_mark(row[0], marks)}>"
        f"{''.join(_cell(text, is_number, links) for text, is_number in zip(row, numeric, strict=True))}</tr>\n"
        for row in rows
    )
    return f'<div class="wide"><table id="{name}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _mark(first: str, marks: Mapping[str, str]) -> str:
    return f' id="{marks[first]}" class="bad"' if first in marks else ""


def _cell(text: str, is_number: bool, links: Mapping[str, str]) -> str:
    return f"<td{' class=n' if is_number else ''}>{_linked(text, links) if links else harmless_html(text)}</td>"


def _filter(of: str, label: str) -> str:
    return f'<p><label>{label} <input type="search" data-of="{of}"></label></p>'


def _s(ns: int) -> str:
    """Seconds, to the millisecond."""
    return f"{ns / SECOND_NS:.3f}"
