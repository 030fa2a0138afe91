// A shop whose checkout stands behind a queue, with Express. docs/integrating.md explains each step.

import { randomBytes } from "node:crypto";

import cookieParser from "cookie-parser";
import express from "express";
import { createRemoteJWKSet, errors, jwtVerify } from "jose";

import { LoadMeter } from "./load_meter.mjs";

const { API = "http://127.0.0.1:8080", WAITING_PAGE = API, QUEUE = "demo:1", ISSUER = "vestibule-local" } = process.env;
const { PORT = "3000", SIGN_FOR_AWS } = process.env;
const CHECKOUT_PAGE = '<title>Checkout</title><form method="post"><button>Order</button></form>';
const REPORT_MS = 5_000;
// It outlives the browser, because a visit has one session: a visitor without the cookie could not come back.
const COOKIE = { signed: true, httpOnly: true, sameSite: "lax", maxAge: 3_600_000 };

const { signHeaders = (_, headers) => headers } = SIGN_FOR_AWS ? await import("./sign_for_aws.mjs") : {};
const keys = createRemoteJWKSet(new URL(`${API}/.well-known/jwks.json`), { cacheMaxAge: 300_000, cooldownDuration: 1_000 });
// By the visit: one visit has one session. Several processes of a shop must share them.
const sessions = new Map();
// Passes of an earlier epoch are void after a reset, and after a deletion, when the answer is a 410 that has this number, too.
// Until this is known, no pass is accepted. Passes of a key that leaked are void as well.
let [minEpoch, voidKeys] = [Infinity, []];
const meter = new LoadMeter();

async function callQueue(path, content) {
  const address = `${API}/queues/${QUEUE}${path}`;
  const body = JSON.stringify(content);
  const headers = await signHeaders(address, { "Content-Type": "application/json" }, body);
  const answer = await fetch(address, { method: "POST", headers, body, signal: AbortSignal.timeout(REPORT_MS) });
  const { code } = answer.ok ? {} : await answer.json().catch(() => ({}));
  if (!answer.ok) console.warn(`the queue answered ${answer.status} ${code}`);
  return { status: answer.status, code };
}

// A path of this shop, and nothing that a browser takes for another host.
const ownPath = (text) => (/^\/(?![/\\])[^\\\x00-\x20]*$/.test(text) ? text : "/checkout");

// The visitor comes from the waiting page. A pass opens one session, in one browser, and none after its end.
async function enter(request, response) {
  const pass = String(request.query.pass);
  const rules = { algorithms: ["ES256"], typ: "pass+jwt", issuer: ISSUER, audience: QUEUE, clockTolerance: 5 };
  const { payload: claims, protectedHeader } = await jwtVerify(pass, keys, rules);
  const isVoid = !(claims.epoch >= minEpoch) || voidKeys.includes(protectedHeader.kid);
  // Of the two signatures that ECDSA has for a text, the one with the lower s counts.
  const hasHighSignature = Buffer.from(pass.split(".")[2], "base64url")[32] > 127;
  if (isVoid || hasHighSignature) throw new errors.JWTInvalid("it is void, or respelled");
  const visit = `${claims.sub} ${claims.visit}`;
  const session = sessions.get(visit) ?? {};
  if (session.end || (session.pass && session !== request.shopSession)) throw new errors.JWTInvalid("it was used");
  // As tolerant as the check of the pass, so that no visitor is sent round by a clock that is ahead.
  sessions.set(visit, Object.assign(session, { pass, token: claims.sub, endsAtMs: (claims.exp + 5) * 1_000 }));
  response.cookie("shop", visit, { ...COOKIE, secure: request.secure });
  response.redirect(303, ownPath(String(request.query.return)));
}

function sendToWaitingRoom(request, response) {
  response.redirect(303, `${WAITING_PAGE}/?${new URLSearchParams({ queue: QUEUE, return: request.originalUrl })}`);
}

// A page needs a session that has not ended. An order is for the queue to decide, also after the pass has ended.
function requireSession(request, response, next) {
  const session = request.shopSession;
  if (session && !session.end && (request.method === "POST" || Date.now() < session.endsAtMs)) next();
  else sendToWaitingRoom(request, response);
}

async function order(request, response) {
  const { shopSession: session } = request;
  const { status, code } = await callQueue(`/entries/${session.token}/validate`, { pass: session.pass });
  if (code === "unknown-entry" || [409, 410].includes(status)) {
    session.end ??= code;
    // A pass may be void although the visit goes on: the waiting room gives the visitor a new one.
  } else if (!session.end && code !== "invalid-pass") {
    if (status !== 200) return response.status(503).send("Please try again in a moment.");
    // Here a shop stores the order.
    session.end = "ordered";
    await callQueue(`/entries/${session.token}/complete`, { pass: session.pass }).catch(console.warn);
  }
  // A second click is no second order.
  if (session.end === "ordered") response.send("<title>Thank you</title>Thank you.");
  else sendToWaitingRoom(request, response);
}

// Reports the load, and reads which passes are void.
async function exchangeReports() {
  const answer = await fetch(`${API}/queues/${QUEUE}`, { signal: AbortSignal.timeout(REPORT_MS) });
  ({ min_epoch: minEpoch = minEpoch, void_keys: voidKeys = voidKeys } = await answer.json());
  await callQueue("/load", meter.takeReport());
  // For an hour after the pass has ended, because the queue may still accept the order.
  sessions.forEach(({ endsAtMs }, visit) => Date.now() > endsAtMs + 3_600_000 && sessions.delete(visit));
}

const app = express();
app.use(meter.measure, cookieParser(randomBytes(32).toString("hex")), (request, response, next) => {
  request.shopSession = sessions.get(request.signedCookies.shop);
  response.set({ "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" });
  next();
});
app.get("/", (request, response) => response.send('<title>Shop</title><a href="/checkout">Checkout</a>'));
app.get("/enter", enter);
app.use("/checkout", requireSession);
app.get("/checkout", (request, response) => response.send(CHECKOUT_PAGE));
app.post("/checkout", order);
app.use((error, request, response, next) => {
  // Two errors of the library say that the keys could not be read. Every other one is about the pass.
  const isOfPass = error instanceof errors.JOSEError && !/JWKS_TIMEOUT|JOSE_GENERIC/.test(error.code);
  if (!isOfPass) console.error(error);
  response.status(isOfPass ? 403 : 503).send(isOfPass ? "This pass is not valid, or was used." : "Please try again.");
});

await exchangeReports().catch(console.warn);
setInterval(() => exchangeReports().catch(console.warn), REPORT_MS);
app.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${PORT}/`));
