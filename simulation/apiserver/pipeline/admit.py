"""Admission: plugins may change the object; after validation, they may judge it (`admission.chain`)."""

from __future__ import annotations

import msgspec

from simulation.apiserver.admission import chain
from simulation.apiserver.pipeline.convert import convert
from simulation.apiserver.pipeline.decode import decode_changed
from simulation.apiserver.pipeline.default import default
from simulation.apiserver.pipeline.prune import prune
from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.requests.bodies import JSON
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json


def admit(this: Write) -> None:
    attributes = this.attributes()
    call = this.call

    def read_again(is_strict: bool) -> Json:
        this.call = _strict(call) if is_strict else call
        try:
            decode_changed(this)
            default(this)
            prune(this)
            convert(this)
        finally:
            this.call = call
        return this.value

    attributes.read_again = read_again
    chain.admit(attributes)


def _strict(call: ResourceCall) -> ResourceCall:
    """The call as if it refused unknown fields. What is read does not come from its body."""
    request = msgspec.structs.replace(call.request, body=b"", content_type=JSON)
    return msgspec.structs.replace(
        call, request=request, verb="update", query={**call.query, "fieldValidation": "Strict"}
    )


def review(this: Write) -> None:
    chain.validate(this.attributes())
