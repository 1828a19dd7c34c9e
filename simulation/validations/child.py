"""The process that evaluates rules, by lines of JSON on its standard input and output.

Each request is a line, `["evaluate", ROWS]` for one, as in `program.py`, and so is its answer. This runs as a script
and imports nothing of the project. A request may use `CPU_S` seconds of CPU, and the process a bounded amount of
memory. With more it dies, which its parent notices.
"""

from __future__ import annotations

import base64
import json
import re
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from importlib import import_module
from ipaddress import IPv6Address, ip_address
from itertools import pairwise
from pathlib import Path
from typing import Any

CPU_S = 2.0
MEMORY_BYTES = 2**30
OLD = "oldValue__"
"""The variable behind an optional `oldSelf`."""
_OF_POLICIES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
"""What the expressions of an admission policy read."""
_OF_REQUEST = {
    **dict.fromkeys(("name", "namespace", "operation", "subResource", "requestSubResource"), "STRING"),
    **dict.fromkeys(
        (f"{kind}.{name}" for kind in ("kind", "requestKind") for name in ("group", "version", "kind")), "STRING"
    ),
    **dict.fromkeys(
        (f"{each}.{name}" for each in ("resource", "requestResource") for name in ("group", "version", "resource")),
        "STRING",
    ),
    **dict.fromkeys(("userInfo.username", "userInfo.uid"), "STRING"),
    **dict.fromkeys(("kind", "requestKind", "resource", "requestResource", "userInfo", "options"), "DYN"),
    "dryRun": "BOOL",
}
_OF_NAMESPACE = {**dict.fromkeys(("metadata", "spec", "status"), "DYN"), "metadata.name": "STRING"}
TYPE = "\x01type"
"""The field that has the type of a constructed value."""
_NO_SELECT = "expression of type 'JSONPatch' cannot be the operand of a select operation"
_ABSENT_KEY = "NOT_FOUND: Key not found in map : "
_CODE = re.compile(r"^[A-Z_]+: ")
_TYPES = {"NULL": "null_type", "TIMESTAMP": "google.protobuf.Timestamp", "DURATION": "google.protobuf.Duration"}
"""Types of CEL that go by another name in Go than in lower case."""
_EXTENSIONS = ("Strings", "Math", "Optional", "Bindings", "Encoders")


def _environment(cel: Any, functions: list[Any] | None = None, variables: Mapping[str, Any] | None = None) -> Any:
    """What rules may use: the standard library, the extensions, and the functions of Kubernetes in Python.

    `functions`: more of them; `variables`: others than usual.
    """
    kinds = cel.Type
    any_list = kinds.List(kinds.DYN)
    function = _declarations(cel)
    usual = [
        function("find", kinds.STRING, [kinds.STRING, kinds.STRING], _find),
        function("findAll", kinds.List(kinds.STRING), [kinds.STRING, kinds.STRING], _find_all),
        function("isSorted", kinds.BOOL, [any_list], lambda items: all(a <= b for a, b in pairwise(items))),
        function("sum", kinds.DYN, [any_list], sum),
        function("min", kinds.DYN, [any_list], min),
        function("max", kinds.DYN, [any_list], max),
        function("isIP", kinds.BOOL, [kinds.STRING], _is_ip, member=False),
        function("isCIDR", kinds.BOOL, [kinds.STRING], _is_network, member=False),
        function("sets.contains", kinds.BOOL, [any_list, any_list], _contains, member=False),
        function("sets.intersects", kinds.BOOL, [any_list, any_list], _intersects, member=False),
        function("sets.equivalent", kinds.BOOL, [any_list, any_list], _equivalent, member=False),
    ]
    modules = [import_module(f"cel_expr_python.ext.ext_{name.lower()}") for name in _EXTENSIONS]
    extensions = [getattr(module, f"Ext{name}")() for module, name in zip(modules, _EXTENSIONS, strict=True)]
    if variables is None:
        variables = dict.fromkeys(("self", "oldSelf", OLD, *_OF_POLICIES), kinds.DYN)
    return cel.NewEnv(variables=variables, functions=[*usual, *(functions or ())], extensions=extensions)


def _declarations(cel: Any) -> Callable[..., Any]:
    def function(name: str, result: Any, parameters: list[Any], call: Callable[..., Any], member: bool = True) -> Any:
        overload = cel.Overload(f"kubernetes_{name}_{len(parameters)}", result, parameters, member, call)
        return cel.FunctionDecl(name, [overload])

    return function


def _constructors(cel: Any, *, checks: bool) -> list[Any]:
    """The functions that `constructors.py` writes, and `jsonpatch.escapeKey`.

    To check types, constructed values have types of their own, which the library cannot evaluate.
    """
    kinds, function = cel.Type, _declarations(cel)
    fields = kinds.Map(kinds.STRING, kinds.DYN)
    of_object, of_patch, of_other = (
        kinds.AbstractType(name) if checks else kinds.DYN for name in ("Object", "JSONPatch", "nothing")
    )
    return [
        function("object__", of_object, [fields], lambda value: {TYPE: "Object", **value}, member=False),
        function("patch__", of_patch, [fields], lambda value: {TYPE: "JSONPatch", **value}, member=False),
        function("part__", kinds.DYN, [kinds.STRING, fields], lambda name, value: {TYPE: name, **value}, member=False),
        *(
            function(f"field__{name}", kinds.STRING, [kinds.STRING], lambda text: text, member=False)
            for name in ("op", "path", "from")
        ),
        function("field__other", kinds.DYN, [of_other], lambda value: value, member=False),
        function("jsonpatch.escapeKey", kinds.STRING, [kinds.STRING], _escape_key, member=False),
    ]


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str) -> list[str]:
    return [found[0] for found in re.finditer(pattern, text)]


def _is_ip(text: str) -> bool:
    """Addresses with a zone are none here, nor are those of IPv4 in IPv6."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (isinstance(address, IPv6Address) and (address.ipv4_mapped or address.scope_id is not None))


def _is_network(text: str) -> bool:
    """Bits behind the prefix are allowed."""
    address, _, length = text.partition("/")
    is_number = length.isascii() and length.isdecimal() and (length == "0" or length[0] != "0")
    return is_number and _is_ip(address) and int(length) <= ip_address(address).max_prefixlen


def _contains(items: list[Any], others: list[Any]) -> bool:
    return all(one in items for one in others)


def _intersects(items: list[Any], others: list[Any]) -> bool:
    return any(one in items for one in others)


def _equivalent(items: list[Any], others: list[Any]) -> bool:
    return _contains(items, others) and _contains(others, items)


class Rules:
    """Compiles rules once, and evaluates them."""

    def __init__(self) -> None:
        self._cel = import_module("cel_expr_python.cel")
        self._environment = _environment(self._cel)
        self._compiled = lru_cache(maxsize=1024)(self._environment.compile)
        mutating = _environment(self._cel, _constructors(self._cel, checks=False))
        self._mutating = lru_cache(maxsize=1024)(mutating.compile)
        self._selecting = lru_cache(maxsize=1024)(self._compile_selector)

    def compile(self, rule: str, kind: str) -> str:
        """The reason why an expression does not compile to that type; empty if it does."""
        try:
            made = self._compiled(rule).return_type()
        except RuntimeError as error:
            return _of_compiler(error)
        wanted = getattr(self._cel.Type, kind)
        return "" if made in (wanted, self._cel.Type.DYN) else f"must evaluate to a {wanted.name().lower()}"

    def evaluate(self, rule: str, message: str, optional: bool, now: Any, *old: Any) -> tuple[bool | None, str]:
        """Whether a rule holds; None if it cannot be evaluated.

        Then the reason, or the text for a broken rule.
        """
        data = {"self": now}
        if old:
            data[OLD if optional else "oldSelf"] = old[0]
        held = self._value(_with_old(rule, bool(old)) if optional else rule, data)
        if held is True:
            return True, ""
        if held is not False:
            return None, str(held)
        said = self._value(_with_old(message, bool(old)) if optional else message, data) if message else ""
        return False, said if isinstance(said, str) else ""

    def judge(
        self, data: dict[str, Any], conditions: list[str], variables: list[list[str]], checks: list[list[str]]
    ) -> list[Any] | None:
        """What an admission policy says of a request; None if a condition does not hold.

        `variables`: name and expression; `checks`: expression and messageExpression. For each check: whether it holds,
        and the text for a broken one. A check or condition that cannot be evaluated gives None, and why.
        """
        fault = self._conditions(conditions, data)
        if fault is not None:
            return None if fault == "" else [[None, fault]]
        data, failed = self._with_variables(data, variables)
        said: list[Any] = []
        for expression, message in checks:
            held = self._value(expression, data)
            if isinstance(held, RuntimeError):
                said.append([None, _told(expression, held, failed)])
            else:
                text = self._value(message, data) if message and held is not True else ""
                said.append([held is True, text if isinstance(text, str) else ""])
        return said

    def mutate(
        self, data: dict[str, Any], conditions: list[str], variables: list[list[str]], expression: str, written: str
    ) -> list[Any] | None:
        """The value of a mutation, which is `written` otherwise; None without one.

        The value comes with True, and the reason why there is none with False.
        """
        fault = self._conditions(conditions, data)
        if fault is not None:
            return None if fault == "" else [False, fault]
        if not expression:
            return [True, None]
        data, failed = self._with_variables(data, variables)
        found = self._value(expression, data, self._mutating)
        return [False, _told(written, found, failed)] if isinstance(found, RuntimeError) else [True, found]

    def select(self, expression: str, devices: list[Any]) -> list[Any]:
        """Whether a selector of devices selects each; None if it cannot be evaluated, and why."""
        values = [self._value(expression, {"device": each}, self._selecting) for each in devices]
        return [[one, ""] if isinstance(one, bool) else [None, _no_answer(one)] for one in values]

    def _compile_selector(self, expression: str) -> Any:
        sys.path.append(str(Path(__file__).parent))
        more = import_module("device_functions")
        sys.path.pop()
        kinds = self._cel.Type
        functions = more.functions(kinds, _declarations(self._cel))
        environment = _environment(self._cel, functions, {"device": kinds.DYN})
        return environment.compile(more.with_domains(expression))

    def _conditions(self, conditions: list[str], data: dict[str, Any]) -> str | None:
        """None if all hold, "" if one does not, else why one cannot be evaluated."""
        for condition in conditions:
            held = self._value(condition, data)
            if isinstance(held, RuntimeError):
                return _told(condition, held, {})
            if held is not True:
                return ""
        return None

    def _with_variables(
        self, data: dict[str, Any], variables: list[list[str]]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The data with variables, and why others have no value: only who reads one of those fails."""
        known: dict[str, Any] = {}
        failed: dict[str, str] = {}
        data = {**data, "variables": known}
        for name, expression in variables:
            value = self._value(expression, data)
            if isinstance(value, RuntimeError):
                failed[name] = f'composited variable "{name}" fails to evaluate: {_why(value, failed)}'
            else:
                known[name] = value
        return data, failed

    def check(
        self,
        has_params: bool,
        composes: bool,
        variables: list[list[str]],
        conditions: list[str],
        expressions: list[list[str]],
    ) -> list[list[str]]:
        """Why each variable, condition and expression does not compile, and else the type of its value.

        `composes`: whether there are `variables`. One without an expression has any type. `expressions`: each with what
        it may use: `patches` for constructors, else "".
        """
        known: dict[str, Any] = {}
        said: list[list[str]] = []
        for name, expression in variables:
            fault, kind = self._checked(expression, has_params, known) if expression else ("", None)
            if name.isidentifier():
                known[name] = kind or self._cel.Type.DYN
            said.append([fault, _named(kind)])
        for condition in conditions:
            fault, kind = self._checked(condition, has_params, None)
            said.append([fault, _named(kind)])
        for expression, use in expressions:
            fault, kind = self._checked(
                expression, has_params, known if composes else None, constructs=use == "patches"
            )
            said.append([fault, _named(kind)])
        return said

    def _checked(
        self, expression: str, has_params: bool, known: dict[str, Any] | None, *, constructs: bool = False
    ) -> tuple[str, Any]:
        """Why an expression does not compile, and else its type.

        `known`: the types of variables; None: it reads none.
        """
        kinds = self._cel.Type
        variables = dict.fromkeys(("object", "oldObject", *(("params",) if has_params else ())), kinds.DYN)
        roots: list[tuple[str, dict[str, Any]]] = [
            ("request", {name: getattr(kinds, kind) for name, kind in _OF_REQUEST.items()}),
            ("namespaceObject", {name: getattr(kinds, kind) for name, kind in _OF_NAMESPACE.items()}),
        ]
        if known is not None:
            roots.append(("variables", known))
        for root, fields in roots:
            # The library takes a field of a known type for a variable, unless something needs the whole.
            if re.search(rf"\b{root}\b(?!\s*\.\s*\w)|\bhas\(\s*{root}\b", expression):
                variables[root] = kinds.DYN
            else:
                variables |= {f"{root}.{name}": kind for name, kind in fields.items()}
        functions = _constructors(self._cel, checks=True) if constructs else []
        try:
            return "", _environment(self._cel, functions, variables).compile(expression).return_type()
        except RuntimeError as error:
            if _NO_SELECT in str(error):
                return "", None  # Go's compiler lets a patch have fields; of which type the value is, is not known.
            return _of_compiler(error), None

    def _value(self, expression: str, data: dict[str, Any], compiled: Callable[[str], Any] | None = None) -> Any:
        try:
            found = (compiled or self._compiled)(expression).eval(data=data)
            value = found.plain_value()
        except (RuntimeError, TypeError) as error:  # The library has no Python value for an optional one.
            return RuntimeError(str(error))
        return RuntimeError(str(value)) if found.type() == self._cel.Type.ERROR else value


def _told(expression: str, error: RuntimeError, failed: dict[str, str]) -> str:
    return f"expression '{expression}' resulted in error: {_why(error, failed)}"


def _why(error: RuntimeError, failed: dict[str, str]) -> str:
    """The words of Kubernetes. `failed`: what is said of variables without a value."""
    text = str(error)
    if not text.startswith(_ABSENT_KEY):
        return _CODE.sub("", text)
    key = text.removeprefix(_ABSENT_KEY)[1:-1]
    return failed.get(key) or f"no such key: {key}"


def _no_answer(value: Any) -> str:
    return _why(value, {}) if isinstance(value, RuntimeError) else "the expression must evaluate to a bool"


def _of_compiler(error: RuntimeError) -> str:
    return str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")


def _named(kind: Any) -> str:
    """The type as Go names it; empty for none."""
    if kind is None:
        return ""
    named = re.sub(r"\b[A-Z]+\b", lambda found: _TYPES.get(found[0], found[0].lower()), repr(kind))
    return named.replace("<", "(").replace(">", ")")


def _as_json(value: Any) -> Any:
    """A value of CEL that JSON has not, as Kubernetes writes it."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return str(value)


def _with_old(expression: str, is_there: bool) -> str:
    """The expression, which reads `oldSelf` as an optional value."""
    return f"cel.bind(oldSelf, {f'optional.of({OLD})' if is_there else 'optional.none()'},\n{expression}\n)"


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    rules = Rules()
    for line in sys.stdin:
        what, rows = json.loads(line)
        # CPU time, and not the time of day: a busy machine makes no rule fail. The signal ends C++ code, too.
        signal.setitimer(signal.ITIMER_PROF, CPU_S)
        tells: dict[str, Callable[..., Any]] = {
            "compile": rules.compile,
            "evaluate": rules.evaluate,
            "judge": rules.judge,
            "mutate": rules.mutate,
            "check": rules.check,
            "select": rules.select,
        }
        answers = [tells[what](*row) for row in rows]
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(answers, default=_as_json), flush=True)


if __name__ == "__main__":
    main()
