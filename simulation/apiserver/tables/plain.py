"""Resources of which a table says little: namespaces, config maps, secrets, accounts, leases, runtime classes."""

from __future__ import annotations

from simulation.apiserver.tables.columns import AGE, NAME, Cell, Column, Json, View, age_of, name_of, part


def _named(json: Json, wall_ns: int) -> list[Cell]:
    return [name_of(json), age_of(json, wall_ns)]


def _namespace(json: Json, wall_ns: int) -> list[Cell]:
    return [name_of(json), part(json, "status").get("phase", ""), age_of(json, wall_ns)]


def _config_map(json: Json, wall_ns: int) -> list[Cell]:
    return [name_of(json), len(part(json, "data")) + len(part(json, "binaryData")), age_of(json, wall_ns)]


def _secret(json: Json, wall_ns: int) -> list[Cell]:
    return [name_of(json), json.get("type", ""), len(part(json, "data")), age_of(json, wall_ns)]


def _lease(json: Json, wall_ns: int) -> list[Cell]:
    return [name_of(json), part(json, "spec").get("holderIdentity") or "", age_of(json, wall_ns)]


def _runtime_class(json: Json, wall_ns: int) -> list[Cell]:
    return [name_of(json), json.get("handler", ""), age_of(json, wall_ns)]


NAMED = View((NAME, AGE), _named)
NAMESPACES = View((NAME, Column("Status", "Active, or Terminating while it is emptied."), AGE), _namespace)
CONFIG_MAPS = View((NAME, Column("Data", "How many keys it has."), AGE), _config_map)
SECRETS = View((NAME, Column("Type", "What the secret is for."), Column("Data", "How many keys it has."), AGE), _secret)
LEASES = View((NAME, Column("Holder", "Who holds the lease."), AGE), _lease)
RUNTIME_CLASSES = View((NAME, Column("Handler", "The handler of the container runtime."), AGE), _runtime_class)
