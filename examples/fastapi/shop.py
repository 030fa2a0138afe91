# A shop whose checkout stands behind a queue, with FastAPI. docs/integrating.md explains each step.

import logging
import re
from contextlib import asynccontextmanager
from importlib import import_module
from os import environ
from secrets import token_hex
from threading import Thread
from time import sleep, time
from types import SimpleNamespace as Session
from typing import Annotated
from urllib.parse import urlencode

import httpx
import jwt
from fastapi import BackgroundTasks, Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from load_meter import LoadMeter
from starlette.middleware.sessions import SessionMiddleware

API, QUEUE = environ.get("API", "http://127.0.0.1:8080"), environ.get("QUEUE", "demo:1")
WAITING_PAGE, ISSUER = environ.get("WAITING_PAGE", API), environ.get("ISSUER", "vestibule-local")
REPORT_SECONDS = 5

signature = import_module("sign_for_aws").AwsSignature() if environ.get("SIGN_FOR_AWS") else None
client = httpx.Client(base_url=f"{API}/queues", timeout=REPORT_SECONDS)
keys = jwt.PyJWKClient(f"{API}/.well-known/jwks.json", timeout=REPORT_SECONDS, cooldown_duration=1)
# By the visit: one visit has one session. Several processes of a shop must share them.
sessions: dict[str, Session] = {}
# Passes of an earlier epoch are void after a reset, and after a deletion, when the answer is a 410 that has this number,
# too. Until this is known, no pass is accepted. Passes of a key that leaked are void as well.
figures = {"min_epoch": float("inf"), "void_keys": []}
meter = LoadMeter()


def call_queue(path: str, content: dict) -> httpx.Response:
    answer = client.post(f"/{QUEUE}{path}", json=content, auth=signature)
    if answer.is_error:
        logging.warning("the queue answered %s %s", answer.status_code, answer.text)
    return answer


# Reports the load, and reads which passes are void.
def exchange_reports() -> None:
    while True:
        try:
            figures.update({k: v for k, v in client.get(f"/{QUEUE}").json().items() if k in figures})
            call_queue("/load", meter.take_report())
        except (httpx.HTTPError, ValueError) as error:
            logging.warning("the queue did not answer: %s", error)
        # For an hour after the pass has ended, because the queue may still accept the order.
        for visit in [visit for visit, session in list(sessions.items()) if time() > session.claims["exp"] + 3_600]:
            del sessions[visit]
        sleep(REPORT_SECONDS)


@asynccontextmanager
async def lifespan(app: FastAPI):
    Thread(target=exchange_reports, daemon=True).start()
    yield


app = FastAPI(lifespan=lifespan)
app.add_middleware(SessionMiddleware, secret_key=token_hex(32), https_only=WAITING_PAGE.startswith("https:"))
app.add_middleware(meter.middleware)


@app.exception_handler(jwt.PyJWTError)
@app.exception_handler(httpx.HTTPError)
def explain(request: Request, error: Exception) -> HTMLResponse:
    if isinstance(error, httpx.HTTPError | jwt.PyJWKClientConnectionError):
        logging.error("the queue did not answer: %s", error)
        return HTMLResponse("Please try again in a moment.", 503)
    return HTMLResponse("This pass is not valid, or it was used before.", 403)


# The visitor comes from the waiting page. A pass opens one session, in one browser, and none after its end.
@app.get("/enter")
def enter(request: Request) -> RedirectResponse:
    shown = request.query_params.get("pass", "")
    key = keys.get_signing_key_from_jwt(shown)
    decoded = jwt.decode_complete(shown, key, ["ES256"], audience=QUEUE, issuer=ISSUER, leeway=5)
    claims, header = decoded["payload"], decoded["header"]
    is_void = claims["epoch"] < figures["min_epoch"] or header["kid"] in figures["void_keys"]
    # Of the two signatures that ECDSA has for a text, the one with the lower s counts.
    if header.get("typ") != "pass+jwt" or is_void or decoded["signature"][32] > 127:
        raise jwt.InvalidTokenError
    visit, opened = f"{claims['sub']} {claims['visit']}", Session(claims=claims, shown_pass=shown, end=None)
    session = sessions.setdefault(visit, opened)
    if session is not opened and (session.end or request.session.get("visit") != visit):
        raise jwt.InvalidTokenError
    session.claims, session.shown_pass, request.session["visit"] = claims, shown, visit
    # A path of this shop, and nothing that a browser takes for another host.
    path = request.query_params.get("return", "")
    return RedirectResponse(path if re.fullmatch(r"/(?![/\\])[^\\\x00-\x20]*", path) else "/checkout", 303)


def to_waiting_room(request: Request) -> HTTPException:
    query = urlencode({"queue": QUEUE, "return": str(request.url.replace(scheme="", netloc=""))})
    return HTTPException(303, headers={"Location": f"{WAITING_PAGE}/?{query}"})


# A page needs a session that has not ended, with the tolerance of the check: else a clock that is ahead sends visitors
# round. About an order the queue decides, also after the pass has ended.
def find_session(request: Request) -> Session:
    session = sessions.get(request.session.get("visit", ""))
    if session and not session.end and (request.method == "POST" or time() < session.claims["exp"] + 5):
        return session
    raise to_waiting_room(request)


@app.get("/checkout", dependencies=[Depends(find_session)])
def show_checkout() -> HTMLResponse:
    return HTMLResponse('<title>Checkout</title><form method="post"><button>Order</button></form>')


@app.post("/checkout")
def order(request: Request, session: Annotated[Session, Depends(find_session)], tasks: BackgroundTasks):
    answer = call_queue(f"/entries/{session.claims['sub']}/validate", {"pass": session.shown_pass})
    if answer.status_code in (409, 410) or "unknown-entry" in answer.text:
        session.end = session.end or "over"
    # A pass may be void although the visit goes on: the waiting room gives the visitor a new one.
    elif not session.end and "invalid-pass" not in answer.text:
        answer.raise_for_status()
        # Here a shop stores the order.
        session.end = "ordered"
        tasks.add_task(call_queue, f"/entries/{session.claims['sub']}/complete", {"pass": session.shown_pass})
    # A second click is no second order.
    if session.end == "ordered":
        return HTMLResponse("<title>Thank you</title>Thank you.")
    raise to_waiting_room(request)


@app.get("/")
def show_shop() -> HTMLResponse:
    return HTMLResponse('<title>Shop</title><a href="/checkout">Checkout</a>')
