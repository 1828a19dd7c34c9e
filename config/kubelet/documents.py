"""YAML or JSON bytes become plain data, and every duplicate key is told with its path.

Owns the reading only: `null`, booleans, numbers, text, lists and maps come out. Refuses what a Kubernetes document is
not: several documents, keys that are no text, aliases that multiply. Dates stay text, and so do sexagesimal numbers,
since no field of a configuration means either.
"""

import json
from collections.abc import Iterator

import yaml

from config.codec import DocumentError
from config.kubelet.paths import below

NODES_AT_MOST = 100_000
"""Values in one document, aliases expanded; a configuration has a few hundred."""


class _PlainLoader(yaml.SafeLoader):
    """SafeLoader whose plain scalars are never dates, merge keys or base-60 numbers."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge", ":value"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Pairs(list[tuple[str, object]]):
    """A JSON object as it stands in the text, duplicates included."""


def read_document(text: bytes) -> tuple[object, list[DocumentError]]:
    """Plain data of one document, and a fault per duplicate key; unreadable text gives `(None, [fault])`."""
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, [DocumentError("$", f"byte {error.start} is not UTF-8", "save the file as UTF-8")]
    if decoded.lstrip().startswith("{"):
        try:
            tree = json.loads(decoded, object_pairs_hook=_Pairs)
        except (ValueError, RecursionError):
            pass  # YAML may be written with braces too, and says better where it breaks
        else:
            faults: list[DocumentError] = []
            return _plain(tree, "$", faults), faults
    return _read_yaml(decoded)


def _read_yaml(text: str) -> tuple[object, list[DocumentError]]:
    faults: list[DocumentError] = []
    try:
        loader = _PlainLoader(text)
        roots = [node for node in _nodes(loader) if not _is_null(node)]
        if not roots:
            return None, []
        if len(roots) > 1:
            hint = "keep one configuration in a file; more belong into the drop-in directory"
            return None, [DocumentError("$", "more than one document", hint)]
        return _Walk(loader, faults).value(roots[0], "$"), faults
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        return None, [DocumentError("$", f"{where}{error.problem}", "mend the YAML")]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return None, [DocumentError("$", f"not YAML: {error}", "mend the YAML")]


def _nodes(loader: _PlainLoader) -> Iterator[yaml.Node]:
    while loader.check_node():
        node = loader.get_node()
        if node is not None:
            yield node


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")


class _Walk:
    """Turns composed nodes into plain data; it walks aliases anew, so it counts."""

    def __init__(self, loader: _PlainLoader, faults: list[DocumentError]) -> None:
        self._loader = loader
        self._faults = faults
        self._count = 0

    def value(self, node: yaml.Node, path: str) -> object:
        self._count += 1
        if self._count > NODES_AT_MOST:
            raise ValueError(f"more than {NODES_AT_MOST} values")
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, f"{path}[{i}]") for i, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if node.tag.endswith(":int") and ":" in node.value:
            return str(node.value)
        if node.tag.rpartition(":")[2] not in ("null", "bool", "int", "float"):
            return str(node.value)
        value: object = self._loader.construct_object(node, deep=True)
        return value

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._faults.append(DocumentError(path, "a key is not text", "write keys as plain words"))
                continue
            name = str(key.value)
            value = self.value(item, below(path, name))
            _put(result, name, value, path, self._faults)
        return result


def _plain(tree: object, path: str, faults: list[DocumentError]) -> object:
    if isinstance(tree, _Pairs):
        result: dict[str, object] = {}
        for name, value in tree:
            _put(result, name, _plain(value, below(path, name), faults), path, faults)
        return result
    if isinstance(tree, list):
        return [_plain(item, f"{path}[{i}]", faults) for i, item in enumerate(tree)]
    return tree


def _put(target: dict[str, object], name: str, value: object, path: str, faults: list[DocumentError]) -> None:
    if name in target:
        faults.append(DocumentError(below(path, name), "given twice", "keep one of the two"))
    target[name] = value
