"""The options of a command: the parser knows what a mistyped one was to be, and prints no escape."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from config.values.harmless_text import harmless_lines
from config.values.nearest import nearest

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

HELP_CHARACTERS_AT_MOST = 64 * 1024


class CommandParser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # A shortened option that works today means something else once there is another one with its beginning.
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        """End with status 2, the usage and the message, which names the nearest option for an unknown one."""
        if message.startswith("unrecognized arguments:"):
            known = [option for action in self._actions for option in action.option_strings]
            unknown = (word.partition("=")[0] for word in message.split() if word.startswith("--"))
            near = filter(None, (nearest(word, known) for word in unknown))
            message = "; ".join([message, *(f"did you mean {option}?" for option in near)])
        super().error(message)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """All that argparse prints, with words of the command line in it."""
        super()._print_message(harmless_lines(message, HELP_CHARACTERS_AT_MOST), file)
