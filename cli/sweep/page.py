"""The page of a sweep for `--report`: one file of HTML that needs nothing else.

Pure. Every text that comes from a run is made harmless, and the page's own policy forbids whatever is loaded from
elsewhere.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from cli.simulate.report_page import HEAD, SCRIPT
from cli.sweep.sweeping import Swept
from config.values.harmless_text import harmless_html
from simulation.operators.faults import KINDS
from simulation.sweep.findings import Finding, often, told

MOMENTS_LISTED = 50


def page(swept: Swept, name: str, known: Set[str], again: str) -> str:
    """`name`: of the scenario. `known`: names of known findings. `again`: the command before `--play`."""
    title = f"Sweep of {name}"
    new = sum(one.name not in known for one in swept.findings)
    parts = (
        HEAD.format(title=harmless_html(title)),
        f"<h1>{harmless_html(title)}</h1>",
        f"<p>{swept.runs} runs; {swept.asked} requests in the run without a fault.</p>",
        *_result(swept, new),
        *_findings(swept.findings, known, again),
        *_kinds(swept),
        *_rest(swept),
        f"</main><script>{SCRIPT}</script></body></html>\n",
    )
    return "\n".join(parts)


def _result(swept: Swept, new: int) -> Iterator[str]:
    if not swept.findings:
        yield '<p id="result">Every run ended as the one without a fault.</p>'
        return
    count = len(swept.findings)
    mark = ' class="bad"' if new else ""
    yield f'<p id="result"{mark}>{count} finding{"s" if count > 1 else ""}, {new} of them new.</p>'


def _findings(found: Sequence[Finding], known: Set[str], again: str) -> Iterator[str]:
    for number, one in enumerate(found, start=1):
        is_known = ", known" if one.name in known else ""
        yield f'<h2 id="finding-{number}">{number}. {harmless_html(one.name)}</h2>'
        yield f"<p>{often(one)}{is_known}</p><ul>"
        yield from (f"<li>{harmless_html(line)}</li>" for line in told(one))
        yield "</ul>"
        yield f"<pre>{harmless_html(f'{again} --play {shlex.quote(str(one.fault))}')}</pre>"
        if len(one.faults) > 1:
            moments = "\n".join(harmless_html(str(fault)) for fault in one.faults[1 : MOMENTS_LISTED + 1])
            yield f"<details><summary>the other moments</summary><pre>{moments}</pre></details>"
        if one.output:
            lines = "\n".join(map(harmless_html, one.output))
            yield f"<details><summary>its output</summary><pre>{lines}</pre></details>"


def _kinds(swept: Swept) -> Iterator[str]:
    counted = Counter(fault.kind for one in swept.findings for fault in one.faults)
    yield '<h2>Faults</h2><div class="wide"><table id="faults"><thead><tr>'
    yield '<th scope="col">fault</th><th scope="col">what happens</th>'
    yield '<th scope="col" class=n>moments with a finding</th></tr></thead><tbody>'
    for kind, about in KINDS.items():
        what = harmless_html(about.did.format(at="..."))
        yield f"<tr><td>{kind}</td><td>{what}</td><td class=n>{counted[kind]}</td></tr>"
    yield "</tbody></table></div>"


def _rest(swept: Swept) -> Iterator[str]:
    if swept.unsure:
        yield "<h2>Seen once, and not again</h2><ul>"
        yield from (f"<li>{harmless_html(name)}</li>" for name in swept.unsure)
        yield "</ul>"
    if swept.unmet:
        yield "<h2>Faults without a moment</h2><p>The run with the fault went another way before.</p><ul>"
        yield from (f"<li>{harmless_html(fault)}</li>" for fault in swept.unmet)
        yield "</ul>"
    if swept.left_out:
        yield f"<p>{swept.left_out} more faults were left out.</p>"
