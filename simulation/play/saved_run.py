"""A failed run in a file: everything to play it again, and its result for people.

The file has the whole scenario, so it stays useful when the library changes. Step and hash say where the invariant was
violated and what happened until then: the same hash means the same messages. Reading checks the content, and every
fault names its place.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import fields, replace

from config.documents.text import only_document
from config.documents.writing import yaml_text
from simulation.scenarios.mistakes import mistakes
from simulation.scenarios.scenario import Scenario, ScenarioError, check_scenario, read_scenario, with_lines

FORMAT: Final = "actorlet.saved-run.v1"


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    pass


class Violated(_Part, frozen=True):
    """Which rule of `simulation.world.invariants` did not hold, and when, in virtual time."""

    invariant: str
    what: str
    at_ns: int


class FoundIn(_Part, frozen=True):
    """The play in which the failure was found, before it was shrunk.

    `runs`: the number of runs since.
    """

    scenario: str
    seed: int
    pods: int
    nodes: int
    runs: int = 0


class SavedRun(_Part, frozen=True):
    """`actorlet`: the version that failed. `step`: turns of actors until the violation."""

    format: Literal["actorlet.saved-run.v1"]
    violated: Violated
    seed: int
    step: Annotated[int, Meta(ge=0)]
    trace_hash: str
    actorlet: str
    found_in: FoundIn
    scenario: Scenario


def read_saved_run(data: bytes) -> SavedRun:
    """Read a saved run in YAML or JSON. Raises `ScenarioError`."""
    document = only_document(data)
    if document.faults:
        raise with_lines(document, map(str, document.faults))
    if isinstance(document.value, dict) and "pods" in document.value:
        fault = "$: it is a scenario, not a saved failure; play it with `actorlet simulate`"
        raise with_lines(document, [fault])
    try:
        saved = msgspec.convert(document.value, SavedRun)
    except msgspec.ValidationError:
        raise with_lines(document, map(str, mistakes(SavedRun, document.value))) from None
    check_scenario(saved.scenario)
    return saved


def written(saved: SavedRun) -> bytes:
    """The saved run as YAML, the fields in the order of the struct, without defaults."""
    plain = msgspec.to_builtins(_with_the_defaults(saved))
    text = _text(plain).encode()
    # Texts that some readers of YAML take for numbers, such as a hash of digits around one e, are safe in JSON.
    return text if _reads_back(text, saved) else msgspec.json.format(msgspec.json.encode(plain))


def scenario_text(scenario: Scenario) -> str:
    """A scenario alone, in the same form. Raises ScenarioError for one that cannot be played."""
    plain = msgspec.to_builtins(_with_the_defaults(scenario))
    text = _text(plain)
    if read_scenario(text.encode()) != scenario:
        return msgspec.json.format(msgspec.json.encode(plain)).decode()
    return text


def _text(plain: object) -> str:
    return yaml_text(plain, width=110)


def _with_the_defaults(value: Any) -> Any:
    """Replace what equals a default by the default itself.

    Only that is left out of a file, and a value from a file or another process is a copy.
    """
    if isinstance(value, tuple):
        return tuple(_with_the_defaults(each) for each in value)
    if not isinstance(value, msgspec.Struct):
        return value
    found = {field.name: _with_the_defaults(getattr(value, field.name)) for field in fields(value)}
    ours = {field.name: field.default for field in fields(value) if field.default == found[field.name]}
    return replace(value, **found | ours)


def _reads_back(text: bytes, saved: SavedRun) -> bool:
    try:
        return read_saved_run(text) == saved
    except ScenarioError:
        return False
