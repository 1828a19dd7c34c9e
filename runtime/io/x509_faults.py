"""Turns faults of certificates and certificate requests into ValueError.

The library raises ValueError for most unreadable input, and other classes for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def x509_faults_as_value_errors() -> Iterator[None]:
    """Within it, foreign certificates and requests are read."""
    # A heavy import, which nodes without certificates do not need.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        yield
    except (
        UnsupportedAlgorithm,
        x509.DuplicateExtension,
        x509.InvalidVersion,
        x509.UnsupportedGeneralNameType,
    ) as error:
        raise ValueError(str(error)) from None
