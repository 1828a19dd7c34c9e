"""Plain data becomes YAML that `config.documents.text` and Go read back.

PyYAML leaves `y` and `1e3` without quotes. Those who read YAML 1.1 in full take them for a bool and a number.
"""

from __future__ import annotations

from typing import Any

import yaml

from config.documents.text import plain_value


def yaml_text(value: object, *, width: int = 10**9) -> str:
    """The document, with its keys in their order. `width`: where lines are folded, in characters."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=width, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    def represent_text(self, text: str) -> Any:
        style = None if isinstance(plain_value(text), str) else "'"
        # Within other quotes these become line breaks.
        return self.represent_scalar("tag:yaml.org,2002:str", text, '"' if _BREAKS.intersection(text) else style)


_BREAKS = frozenset("\x85\u2028\u2029")


_Dumper.add_representer(str, _Dumper.represent_text)
