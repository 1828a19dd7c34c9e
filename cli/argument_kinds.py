"""Kinds of arguments that several commands take: whole numbers in a range, durations, paths.

Durations are as people write them.

Each is a `type` for argparse, and refuses what it is not with a sentence that says what it takes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TypeVar

from simulation.cri.behaviour_values import duration_ns

T = TypeVar("T")


def number_from(least: int, most: int) -> Callable[[str], int]:
    """Whole numbers from `least` to `most`, both included."""

    def read(text: str) -> int:
        if not (text.isdecimal() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return read


def read_by(read: Callable[[str], T], refusal: type[Exception] = ValueError) -> Callable[[str], T]:
    """An argument kind for `read`; its error `refusal` becomes the message."""

    def value(text: str) -> T:
        try:
            return read(text)
        except refusal as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return value


def existing(text: str) -> str:
    """The path of a file or directory that is there."""
    if not os.path.exists(text):
        raise argparse.ArgumentTypeError(f"there is no {text}")
    return text


def duration(text: str) -> str:
    """A duration such as `90s` or `24h`, as it was written."""
    read_by(duration_ns)(text)
    return text
