"""Records one answer of each kind of the runner, as tests/api/build/answers/SCHEMA.CASE.json.

VESTIBULE_API is the address of the runner. A client that is generated reads the answers: see infra/openapi.sh compiled.
"""

import json
import os
import pathlib
import time
import urllib.error
import urllib.request
import uuid

ANSWERS = pathlib.Path(__file__).parent / "build" / "answers"
TURN_MAX_SECONDS = 60


def send(method, path, body=None, visitor=None):
    """Returns the status and the body of an answer, as text."""
    headers = {"Content-Type": "application/json", **({"X-Visitor-Id": visitor} if visitor else {})}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["VESTIBULE_API"] + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode()


def record(name, status, request, *arguments, **options):
    """Stores the answer to a request, which must have this status. Returns it."""
    got, text = send(request, *arguments, **options)
    assert got == status, f"{name}: {got} {text}"
    (ANSWERS / f"{name}.json").write_text(text, encoding="utf-8")
    return json.loads(text)


def order(op, **fields):
    status, text = send("POST", "/_admin", {"op": op, **fields})
    assert status == 200, text


def enter(name, queue, visitor, status=201):
    return record(name, status, "POST", f"/queues/{queue}/entries", {}, visitor=visitor)


def main():
    ANSWERS.mkdir(parents=True, exist_ok=True)
    first, second, third, early = (str(uuid.uuid4()) for _ in range(4))
    settings = {"capacity": 1, "batch": 1, "interval_seconds": 1, "leave_on_close": True, "target_url": "https://shop.example/{pass}"}
    message = {"default": "en", "en": "Soon", "ko": "곧"}
    order("create", queue="compiled", settings={**settings, "message": message})
    opens_at_ms = int(time.time() * 1000) + 3_600_000
    order("create", queue="later", settings={"opens_at_ms": opens_at_ms, "before_opening": "draw", "draw_anyone": True})

    active = enter("Entry.active", "compiled", first)
    waiting = enter("Entry.waiting", "compiled", second)
    enter("Entry.again", "compiled", second, status=200)
    enter("Entry.scheduled", "later", early)
    entries = "/queues/compiled/entries"
    record("Problem.not-your-turn", 409, "POST", f"{entries}/{waiting['token']}/claim", {}, visitor=second)
    record("Problem.invalid-field", 400, "POST", "/queues/compiled/load", {"tps": -1})
    record("Problem.unknown-queue", 404, "GET", "/queues/nobody")
    third_entry = enter("Entry.last", "compiled", third)
    record("Closing", 202, "DELETE", f"{entries}/{third_entry['token']}?closed=true", visitor=third)
    record("LoadAnswer", 200, "POST", "/queues/compiled/load", {"tps": 3})
    pass_ = {"pass": active["pass"]}
    record("ValidateResponse", 200, "POST", f"{entries}/{active['token']}/validate", pass_)
    assert send("POST", f"{entries}/{active['token']}/complete", pass_)[0] == 204
    record("Problem.completed", 410, "GET", f"{entries}/{active['token']}", visitor=first)

    deadline = time.monotonic() + TURN_MAX_SECONDS
    while record("Entry.ready", 200, "GET", f"{entries}/{waiting['token']}", visitor=second)["state"] != "ready":
        assert time.monotonic() < deadline, "the turn did not come"
        time.sleep(0.5)
    for queue in ("compiled", "later"):
        record(f"PublicDocument.{queue}", 200, "GET", f"/queues/{queue}")
    record("Jwks", 200, "GET", "/.well-known/jwks.json")
    order("finish", queue="compiled", confirm="compiled", epoch=1, reason="sold_out")
    record("PublicDocument.finished", 200, "GET", "/queues/compiled")
    record("Problem.queue-finished", 410, "POST", entries, {}, visitor=str(uuid.uuid4()))


if __name__ == "__main__":
    main()
