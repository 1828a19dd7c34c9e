"""Applies the rules of a kind to an object: a list of forms at paths, from `kinds/*.yaml`. Pure.

A file has `types`, lists of rules that kinds and other types share, and `kinds` by `apiVersion/Kind`. Rules are applied
in their order, and a list is gone through item by item, so causes come in the order of a kube-apiserver. The fields of
a rule are those of `Rule`; `docs/reference/simulated-api-server.md` has a table of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from simulation.apiserver.rules import (
    autoscaling_checks,
    causes,
    checks,
    data_checks,
    kind_checks,
    network_checks,
    pod_changes,
    pod_checks,
    pod_spec_checks,
    volume_checks,
)
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.seen import Seen, at, field_of, is_empty, same
from simulation.apiserver.rules.spelling import FORMS

HERE = Path(__file__).parent / "kinds"
CHECKS = {
    name: function
    for module in (
        autoscaling_checks,
        checks,
        data_checks,
        kind_checks,
        network_checks,
        pod_changes,
        pod_checks,
        pod_spec_checks,
        volume_checks,
    )
    for name, function in module.CHECKS.items()
}


class Union(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of these fields one must be there. `none`: the cause without any, `more`: at each one too many."""

    fields: tuple[str, ...] = ()
    types: Mapping[str, str] = {}
    """In place of `fields`: with the rules of each, which only the first that is there must keep."""
    shown: Mapping[str, str] = {}
    """With `types`: fields whose faults stand at another name."""
    names: Mapping[str, str] = {}
    """Fields that a cause calls otherwise."""
    free: tuple[str, ...] = ()
    """Fields that may be there beside others."""
    none: str | None = None
    more: str | None = None


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule. `at`: a path from the value of the type; `*` for each item of a list or value of a map.

    It applies if the fields `when` have (one of) these values and those of `unless` have not. The fields `has` are not
    empty, those of `lacks` are. `write` is that of the request ("create" or "update"). Then come the forms, in this
    order.
    """

    at: str = ""
    when: Mapping[str, Any] = {}
    unless: Mapping[str, Any] = {}
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    write: str = ""
    field: str | None = None
    """The path in the cause, from the value of the type, where it is not `at`."""
    absent: Any = None
    """The value where there is none, as Go has it: `""` or 0. Else an absent value is not looked at."""

    required: str | None = None
    """Why it may not be empty; `""` for no reason."""
    present: str | None = None
    """Why it must be there, though it may be empty."""
    forbidden: str | None = None
    """Why it may not be there."""
    banned: str | None = None
    """Why it may not be there, even if there is nothing in it."""
    hidden: str | None = None
    """Why it is wrong, under these conditions; upstream shows an empty text."""
    wrong: str | None = None
    """Why any value is invalid, under these conditions."""
    wrong_all: str | None = None
    """Why the value is invalid as a whole; upstream does not show it."""
    missing: str | None = None
    """Why a value counts as missing, under these conditions."""
    not_one_of: tuple[str, ...] = ()
    """The supported values that the cause names, under these conditions."""
    above: str = ""
    """It must be greater than that field."""
    no_less_than: str = ""
    """It must not be less than that field."""
    immutable: bool | str = False
    """It may not change; a text is the reason of a `Forbidden`."""
    differs: bool = False
    """With a text of `immutable`: what differs is shown."""
    once: bool = False
    """With `immutable`: an empty value may change."""
    but: tuple[str, ...] = ()
    """With `immutable`: these fields of the value may change."""
    only: tuple[str, ...] = ()
    """With `immutable`: only these may not."""
    enum: tuple[str, ...] | None = None
    form: str = ""
    """See `spelling.FORMS`."""
    least: int | None = None
    most: int | None = None
    range: tuple[int, int] | None = None
    says: str | None = None
    """Other words for the faults of `least`, `most`, `form`."""
    longest: int | None = None
    """In bytes."""
    items: int | None = None
    """Items at most."""
    unique: str | None = None
    """Items of a list have nothing twice: the field that tells them apart, "." for the items."""
    whole: bool = False
    """With `unique`: the cause names the item, not its field."""
    one_of: Union | None = None
    type: str = ""
    """The rules of a type. With `field` they stand at that path."""
    kinds: tuple[str, ...] = ()
    """Of which kinds the whole object must be; none for any."""
    check: str = ""
    """A function of `checks`."""


class OfMetadata(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a kind has its metadata checked.

    `name`: its form. `again`: the checks that its own validation repeats when an object changes.
    `plain_finalizers`: names without a slash are good. `generated`: whether the prefix of a name is checked.
    """

    name: str = "subdomain"
    again: tuple[str, ...] = ("update",)
    plain_finalizers: bool = False
    generated: bool = True
    longest_name: int | None = None


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of a kind, and those of its `status`."""

    metadata: OfMetadata = OfMetadata()
    rules: tuple[Rule, ...] = ()
    status: tuple[Rule, ...] = ()


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    types: Mapping[str, tuple[Rule, ...]] = {}
    kinds: Mapping[str, Kind] = {}


@cache
def _known() -> File:
    files = [msgspec.yaml.decode(path.read_bytes(), type=File) for path in sorted(HERE.glob("*.yaml"))]
    return File(
        {name: rules for file in files for name, rules in file.types.items()},
        {name: kind for file in files for name, kind in file.kinds.items()},
    )


def known_rules() -> tuple[Mapping[str, tuple[Rule, ...]], Mapping[str, Kind]]:
    """All types, and all kinds by `apiVersion/Kind`."""
    return _known().types, _known().kinds


_OTHERS = Kind(OfMetadata(plain_finalizers=True))


def kind_rules(api_version: str, kind: str) -> Kind:
    """The rules of a kind. A kind that has none, such as a custom one, has only those of metadata."""
    return _known().kinds.get(f"{api_version}/{kind}", _OTHERS)


def causes_of(rules: Sequence[Rule], value: Any, before: Any = None) -> list[Cause]:
    """The faults of an object by these rules; `before`: the object that it replaces."""
    return list(_of_list(rules, Seen(value, before, "", value, before)))


def causes_of_type(name: str, value: Any) -> list[Cause]:
    """The faults of a whole object by the rules of a type."""
    return causes_of(_known().types[name], value)


def _of_list(rules: Sequence[Rule], seen: Seen) -> Iterator[Cause]:
    for rule in rules:
        if _applies(rule, seen):
            for place in _places(rule, seen):
                yield from _of_rule(rule, place, seen)


def _applies(rule: Rule, seen: Seen) -> bool:
    if rule.write and (rule.write == "update") != (seen.root_before is not None):
        return False
    value = seen.value
    if rule.kinds and field_of(seen.root, "kind") not in rule.kinds:
        return False
    return (
        all(_is(at(value, path), wanted) for path, wanted in rule.when.items())
        and not any(_is(at(value, path), wanted) for path, wanted in rule.unless.items())
        and not any(is_empty(at(value, path)) for path in rule.has)
        and all(is_empty(at(value, path)) for path in rule.lacks)
    )


def _is(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)


def _places(rule: Rule, seen: Seen) -> Iterator[Seen]:
    places = [seen]
    for step in filter(None, rule.at.split(".")):
        places = [below for place in places for below in (place.each() if step == "*" else [place.at_field(step)])]
    yield from places


def _of_rule(rule: Rule, seen: Seen, above: Seen) -> Iterator[Cause]:
    value, field = seen.value, seen.path
    if rule.field is not None:
        field = above.join(rule.field)
    if value is None:
        value = rule.absent
    if rule.immutable and seen.root_before is not None:
        yield from _of_change(rule, seen, field)
    if rule.required is not None and is_empty(value):
        yield causes.required(field, rule.required)
        return
    if rule.present is not None and value is None:
        yield causes.required(field, rule.present)
    if rule.missing is not None:
        yield causes.required(field, rule.missing)
    if rule.one_of is not None:
        yield from _of_union(rule.one_of, seen.shown_at(field))
    if value is None:
        return
    if rule.forbidden is not None and not is_empty(value):
        yield causes.forbidden(field, rule.forbidden)
    if rule.banned is not None:
        yield causes.forbidden(field, rule.banned)
    if rule.hidden is not None:
        yield causes.invalid(field, "", rule.hidden)
    if rule.wrong is not None:
        yield causes.invalid(field, value, rule.wrong)
    if rule.wrong_all is not None:
        yield "FieldValueInvalid", f"Invalid value: {rule.wrong_all}", field
    if rule.not_one_of:
        yield causes.not_supported(field, value, rule.not_one_of)
    if rule.enum is not None and value not in rule.enum and (value != "" or rule.absent == ""):
        yield causes.not_supported(field, value, rule.enum)
    if rule.form and isinstance(value, str) and (value or rule.absent == ""):
        yield from _of_form(rule, value, field)
    if isinstance(value, int) and not isinstance(value, bool):
        yield from _of_number(rule, value, field)
        yield from _of_others(rule, value, field, above)
    if rule.longest is not None and isinstance(value, str) and len(value.encode()) > rule.longest:
        yield causes.too_long(field, rule.longest)
    if rule.items is not None and isinstance(value, list | dict) and len(value) > rule.items:
        yield causes.too_many(field, len(value), rule.items)
    if rule.type:
        yield from _of_list(_known().types[rule.type], msgspec.structs.replace(seen, value=value, path=field))
    if rule.check:
        yield from CHECKS[rule.check](msgspec.structs.replace(seen, value=value, path=field))
    if rule.unique is not None and isinstance(value, list):
        yield from _twice(rule, value, field)


def _of_change(rule: Rule, seen: Seen, field: str) -> Iterator[Cause]:
    now, was = seen.value, seen.before
    if rule.once and is_empty(was):
        return
    if rule.but:
        now, was = ({name: part for name, part in (one or {}).items() if name not in rule.but} for one in (now, was))
    if rule.only:
        now, was = ({name: (one or {}).get(name) for name in rule.only} for one in (now, was))
    if not same(now, was):
        if isinstance(rule.immutable, str):
            shown = f"\n{causes.difference(was, now)}" if rule.differs else ""
            yield causes.forbidden(field, rule.immutable + shown)
        else:
            shown = rule.absent if seen.value is None else seen.value
            yield causes.invalid(field, shown, rule.says or causes.IMMUTABLE)


def _of_union(union: Union, seen: Seen) -> Iterator[Cause]:
    there = [name for name in union.types or union.fields if at(seen.value, name) is not None]
    for name in (*there[:1], *(one for one in there[1:] if one in union.free)) if union.types else ():
        place = seen.at_field(name)
        yield from _of_list(_known().types[union.types[name]], place.shown_at(seen.join(union.shown.get(name, name))))
    if not there and union.none is not None:
        yield causes.required(seen.path, union.none)
    if union.more is not None:
        yield from (
            causes.forbidden(seen.join(union.names.get(name, name)), union.more)
            for name in there[1:]
            if name not in union.free
        )


def _of_form(rule: Rule, value: str, field: str) -> Iterator[Cause]:
    faults = FORMS[rule.form](value)
    if faults and rule.says is not None:
        faults = [rule.says]
    shown = value.lower() if rule.form.startswith("lowered") else value
    yield from (causes.invalid(field, shown, why) for why in faults)


def _of_number(rule: Rule, value: int, field: str) -> Iterator[Cause]:
    if rule.least is not None and value < rule.least:
        usual = f"must be greater than or equal to {rule.least}"
        yield causes.invalid(field, value, rule.says or usual)
    if rule.most is not None and value > rule.most:
        yield causes.invalid(field, value, rule.says or f"must be less than or equal to {rule.most}")
    if rule.range is not None and not rule.range[0] <= value <= rule.range[1]:
        low, high = rule.range
        yield causes.invalid(field, value, rule.says or f"must be between {low} and {high}, inclusive")


def _of_others(rule: Rule, value: int, field: str, above: Seen) -> Iterator[Cause]:
    if rule.above and value <= (at(above.value, rule.above) or 0):
        yield causes.invalid(field, value, f"must be greater than {rule.above.rpartition('.')[2]}")
    least = at(above.value, rule.no_less_than) if rule.no_less_than else None
    if least is not None and value < least:
        yield causes.invalid(field, value, f"must be greater than or equal to `{rule.no_less_than.rpartition('.')[2]}`")


def _twice(rule: Rule, items: Sequence[Any], field: str) -> Iterator[Cause]:
    key, seen = rule.unique or ".", set[Any]()
    for number, item in enumerate(items):
        found = item if key == "." else at(item, key)
        # A list may have thousands of items, so each is looked up; a map or a list is, by its text.
        known = msgspec.json.encode(found, order="deterministic") if isinstance(found, dict | list) else found
        if known in seen and not is_empty(found):
            place = f"{field}[{number}]"
            yield causes.duplicate(place if rule.whole or key == "." else f"{place}.{key}", found)
        seen.add(known)
