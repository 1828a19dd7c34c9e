"""ResourceQuotas: what of them a request would use, whether that is too much, and what is used now.

A quota limits what its status says (`status.hard`), which follows its spec. So nothing is limited before that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from config.values.quantity import ZERO
from simulation.quotas.counts import Change, Count
from simulation.quotas.resource_lists import Amounts, added, read, texts_of

Json: TypeAlias = Mapping[str, Any]


class QuotaError(Exception):
    """The request is refused; the text says why."""


def charged(quotas: Sequence[Json], count: Count, change: Change, now_s: float) -> list[tuple[Json, Amounts]]:
    """The quotas that the request uses more of, with all that is used then. Raises QuotaError."""
    if not count.handles(change):
        return []
    concerned = [quota for quota in quotas if _concerns(quota, count, change.new)]
    for quota in concerned:
        _check_known(quota, count, change.new)
    usage = count.usage(change.new, now_s)
    negative = sorted(name for name, amount in usage.items() if amount < ZERO)
    if negative:
        raise QuotaError(f"quota usage is negative for resource(s): {','.join(negative)}")
    more = usage
    if change.old is not None:
        before = count.usage(change.old, now_s)
        more = {name: amount - before.get(name, ZERO) for name, amount in usage.items()}
    found = []
    for quota in concerned:
        is_new = change.old is None or not _concerns(quota, count, change.old)
        asked = {name: amount for name, amount in (usage if is_new else more).items() if amount > ZERO}
        if asked:
            found.append((quota, _used_then(quota, asked, is_bound=change.part != "status")))
    return found


def used_now(quota: Json, objects: Iterable[tuple[Count, Iterable[Json]]], now_s: float) -> dict[str, str]:
    """The `status.used` of a quota. `objects`: those of its namespace, by kind.

    What nobody counts keeps its last amount.
    """
    hard = (quota.get("spec") or {}).get("hard") or {}
    used = read((quota.get("status") or {}).get("used"))
    counted: Amounts = {}
    for count, values in objects:
        names = count.matching(hard)
        counted = {**dict.fromkeys(names, ZERO), **counted}
        for value in values:
            if _is_in_scopes(quota, count, value):
                own = count.usage(value, now_s)
                counted = added(counted, {name: own[name] for name in names & own.keys()})
    used |= counted
    return texts_of({name: amount for name, amount in used.items() if name in hard})


def _concerns(quota: Json, count: Count, value: Json) -> bool:
    return bool(count.matching(_hard(quota))) and _is_in_scopes(quota, count, value)


def _is_in_scopes(quota: Json, count: Count, value: Json) -> bool:
    spec = quota.get("spec") or {}
    selectors = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return all(count.is_in_scope(selector, value) for selector in selectors)


def _check_known(quota: Json, count: Count, value: Json) -> None:
    """Raises QuotaError."""
    names, name = count.matching(_hard(quota)), quota["metadata"]["name"]
    missing = count.missing(names, value)
    if missing:
        raise QuotaError(f"failed quota: {name}: {missing}")
    if names - ((quota.get("status") or {}).get("used") or {}).keys():
        raise QuotaError(f"status unknown for quota: {name}, resources: {','.join(sorted(names))}")


def _used_then(quota: Json, asked: Amounts, *, is_bound: bool) -> Amounts:
    """Raises QuotaError where it is more than the quota has."""
    hard, used = read(_hard(quota)), read((quota.get("status") or {}).get("used"))
    asked = {name: amount for name, amount in asked.items() if name in hard}
    then = added(used, asked)
    over = sorted(name for name in asked if then[name] > hard[name])
    if over and is_bound:
        requested, before, limited = (_shown(amounts, over) for amounts in (asked, used, hard))
        name = quota["metadata"]["name"]
        raise QuotaError(f"exceeded quota: {name}, requested: {requested}, used: {before}, limited: {limited}")
    return then


def _shown(amounts: Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names if name in amounts)


def _hard(quota: Json) -> Mapping[str, str]:
    return (quota.get("status") or {}).get("hard") or {}
