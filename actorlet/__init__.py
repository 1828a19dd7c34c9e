"""actorlet, a Kubernetes node agent: what other programs may import.

`actorlet.testing` starts simulated clusters for tests; `python -m actorlet` is the command. The agent itself, in the
folders `config`, `runtime`, `actors`, `simulation` and `cli`, runs in processes of its own (`actorlet._process`) and is
no API.
"""

__version__: str
"""Of the installed distribution, such as `0.1.0`; `unknown` in a tree that is not installed."""


def __getattr__(name: str) -> str:
    # Each run of pytest imports this package, and importlib.metadata is slow to import.
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("actorlet")
    except PackageNotFoundError:
        return "unknown"
