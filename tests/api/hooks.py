"""Hooks of Schemathesis: what a valid request keeps to, and OpenAPI 3.0 or the generators of clients cannot say."""

import uuid

import schemathesis
from schemathesis import GenerationMode

ENTER = "POST /queues/{queue}/entries"
VALIDATE = "POST /queues/{queue}/entries/{token}/validate"
LOAD = "POST /queues/{queue}/load"
VISITOR_ID_MAX_BYTES = 256
# The links of an entry's answer to what the service does with it. The document cannot say the body: generators of clients
# refuse a link whose body is no text.
SERVICE_LINKS = ("validate", "complete")


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Lets the service name the visitor of the entry."""
    for response in raw_schema["components"]["responses"].values():
        for name in SERVICE_LINKS:
            if name in response.get("links", {}):
                response["links"][name]["requestBody"] = {"visitor": "$request.header.X-Visitor-Id"}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes a request that is to be accepted valid. A request that is to be refused stays as it is."""
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    # The links of the answer repeat the visitor's id, which a client may leave out. Each visitor is a new one here,
    # because Hypothesis ends the phase if a repeated scenario has other answers.
    if case.meta.phase.name.value == "stateful" and case.operation.label == ENTER:
        case.headers["X-Visitor-Id"] = str(uuid.uuid4())
    if isinstance(case.body, dict):
        complete_fields(case.operation.label, case.body)


def complete_fields(operation, body):
    """Applies the rules between the fields of a body, and the limit in bytes."""
    if len(body.get("visitor", "").encode()) > VISITOR_ID_MAX_BYTES:
        body["visitor"] = str(uuid.uuid4())
    if operation == LOAD and body.get("healthy") is not False:
        body.setdefault("tps", 0)
    if operation != VALIDATE:
        return
    if "pass" not in body:
        body.setdefault("visitor", str(uuid.uuid4()))
    if not body.get("consume"):
        body.pop("use", None)
    if body.get("consume"):
        body.pop("extend", None)
    if not body.get("extend"):
        body.pop("seconds", None)
