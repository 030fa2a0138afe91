"""Sends two visitors through a queue by the client that openapi-python-client generates.

The queue has one slot. The first visitor gets it at once, so the second one waits until the service has completed the
first. VESTIBULE_API is the address of the runner.
"""

import os
import time
import uuid

from vestibule_client import Client
from vestibule_client.api.public import jwks, view
from vestibule_client.api.service import complete, load, validate
from vestibule_client.api.visitor import claim, enter, extend, leave, status
from vestibule_client.models import (
    CompleteRequest,
    EmptyBody,
    Entry,
    EntryState,
    ExtendRequest,
    LoadReport,
    Problem,
    ProblemCode,
    QueueState,
    ValidateRequest,
)

QUEUE = "python"
TURN_MAX_SECONDS = 60


def enter_as_new_visitor(client):
    visitor = str(uuid.uuid4())
    answer = enter.sync_detailed(QUEUE, client=client, x_visitor_id=visitor, body=EmptyBody())
    assert answer.status_code == 201, answer
    assert str(answer.parsed.token) in answer.headers["Location"]
    return visitor, answer.parsed


def wait_for_turn(client, visitor, entry):
    """Polls as often as the answers say until the entry is ready."""
    deadline = time.monotonic() + TURN_MAX_SECONDS
    while entry.state == EntryState.WAITING:
        assert time.monotonic() < deadline, "the turn did not come"
        assert isinstance(entry.retry_after_ms, int), "only a proven visitor is told when to ask"
        time.sleep(entry.retry_after_ms / 1000)
        entry = status.sync(QUEUE, entry.token, client=client, x_visitor_id=visitor, wait=5)
        assert isinstance(entry, Entry), entry
    assert entry.state == EntryState.READY, entry
    return entry


def main():
    client = Client(base_url=os.environ["VESTIBULE_API"], timeout=30, raise_on_unexpected_status=True)

    first, active = enter_as_new_visitor(client)
    assert active.state == EntryState.ACTIVE, active
    second, waiting = enter_as_new_visitor(client)
    assert (waiting.state, waiting.position) == (EntryState.WAITING, 1), waiting
    early = claim.sync_detailed(QUEUE, waiting.token, client=client, x_visitor_id=second, body=EmptyBody())
    assert early.status_code == 409 and early.parsed.code == ProblemCode.NOT_YOUR_TURN, early

    document = view.sync(QUEUE, client=client)
    assert (document.queue, document.state) == (QUEUE, QueueState.OPEN), document
    reported = load.sync_detailed(QUEUE, client=client, body=LoadReport(tps=3, healthy=True))
    assert reported.parsed is not None and reported.parsed.acts is False, reported
    completed = complete.sync_detailed(QUEUE, active.token, client=client, body=CompleteRequest(visitor=first))
    assert completed.status_code == 204, completed

    ready = wait_for_turn(client, second, waiting)
    claimed = claim.sync(QUEUE, ready.token, client=client, x_visitor_id=second, body=EmptyBody())
    assert claimed.state == EntryState.ACTIVE and claimed.pass_.count(".") == 2, claimed
    assert jwks.sync(client=client).keys[0].alg == "ES256"

    body = ValidateRequest(pass_=claimed.pass_)
    valid = validate.sync(QUEUE, claimed.token, client=client, body=body)
    assert valid.valid and valid.visit == claimed.visit, valid
    body = ExtendRequest(seconds=600)
    extended = extend.sync(QUEUE, claimed.token, client=client, x_visitor_id=second, body=body)
    assert extended.expires_at_ms > claimed.expires_at_ms, extended

    body = CompleteRequest(pass_=claimed.pass_)
    completed = complete.sync_detailed(QUEUE, claimed.token, client=client, body=body)
    assert completed.status_code == 204, completed
    gone = status.sync_detailed(QUEUE, claimed.token, client=client, x_visitor_id=second)
    assert gone.status_code == 410 and isinstance(gone.parsed, Problem), gone
    assert gone.parsed.code == ProblemCode.COMPLETED, gone
    left = leave.sync_detailed(QUEUE, claimed.token, client=client, x_visitor_id=second)
    assert left.status_code == 204, left
    print("the client of openapi-python-client went through the queue")


if __name__ == "__main__":
    main()
