"""Where the tests of this floor find data.

It is the public files beside the checkout, or small ones of our own.

`shared/` lies beside every checkout of ours, also in CI; a stranger's clone has none, and there the files in
`tests/config/data/` serve. They have the same form and fewer kinds.
"""

import json
from pathlib import Path
from typing import Any

import pytest

OWN = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(scope="session")
def api_objects() -> list[tuple[str, bytes]]:
    """(kind, one JSON object of it with its fields set), ours and the public ones."""
    files = [*(OWN / "objects").glob("*.json"), *(SHARED / "objects").glob("*.json")]
    return [(path.name.removesuffix(".json").rpartition(".")[2], path.read_bytes()) for path in files]


@pytest.fixture(scope="session")
def api_schemas() -> dict[str, Any]:
    """Name of the type, such as io.k8s.api.core.v1.Pod -> its OpenAPI schema."""
    shared = SHARED / "openapi-core-v1.json"
    document = json.loads((shared if shared.exists() else OWN / "openapi-core-v1.json").read_text())
    schemas: dict[str, Any] = document["components"]["schemas"]
    return schemas
