"""What can lie in the directory of manifests (point 8)."""

from __future__ import annotations

from tests.attacks.target import Target

_HEADER = "apiVersion: v1\nkind: Pod\n"
_LONG = "K" * 30_000


def costly_documents(target: Target) -> None:
    """A few hundred kilobytes each, that cost gigabytes when paths or aliases are written out.

    Each is refused.
    """
    with target.manifests(
        paths=_HEADER + _LONG + ":\n" + "".join(f" k{number}:\n" for number in range(25_000)),
        aliases="x: &x0 " + "y" * 1000 + "\n" + "".join(f"x{n}: &x{n} [{f'*x{n - 1}, ' * 10}]\n" for n in range(1, 12)),
        depth="[" * 100_000,
        json='{"a":' * 100_000,
        values="[" + "1," * 600_000 + "1]",
        tags="a: " + "!x " * 50_000 + "y",
    ) as paths:
        target.await_refused(*paths.values())
