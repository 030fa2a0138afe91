// A shop whose checkout stands behind a queue: plain Node.js, without a framework. docs/integrating.md explains each step.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { createRemoteJWKSet, jwtVerify } from "jose";

const { WAITING_ROOM = "http://127.0.0.1:8080", QUEUE = "demo:1", ISSUER = "vestibule-local", PORT = "3000" } = process.env;
const LOAD_REPORT_MS = 5_000;
const MIN_EPOCH_MS = 10_000;

const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", WAITING_ROOM));
// By the id in the cookie, and by the visit: one visit has one session.
const sessions = new Map();
const sessionIds = new Map();
let requests = 0;
let minEpoch = { value: 0, readAtMs: -Infinity };

// A deployment wants this request signed, or with its API key.
async function callQueue(path, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`${WAITING_ROOM}/queues/${QUEUE}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return { isOk: answer.ok, ...(answer.status === 204 ? {} : await answer.json()) };
}

// Passes of an earlier epoch are void after a reset.
async function readMinEpoch() {
  if (performance.now() - minEpoch.readAtMs > MIN_EPOCH_MS) {
    const document = await (await fetch(`${WAITING_ROOM}/queues/${QUEUE}`)).json();
    minEpoch = { value: document.min_epoch ?? 0, readAtMs: performance.now() };
  }
  return minEpoch.value;
}

// A path of this shop, and nothing that a browser takes for another host.
const ownPath = (text) => (/^\/(?![/\\])[^\\\x00-\x20]*$/.test(text ?? "") ? text : "/checkout");

function answer(response, status, text, headers = {}) {
  response.writeHead(status, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", ...headers }).end(text);
}
const redirect = (response, location, headers) => answer(response, 303, "", { Location: location, ...headers });

// The visitor comes from the waiting page. A pass opens one session, in one browser.
async function enter(url, sessionId, response) {
  const pass = url.searchParams.get("pass") ?? "";
  const options = { algorithms: ["ES256"], typ: "pass+jwt", issuer: ISSUER, audience: QUEUE };
  const claims = await jwtVerify(pass, keys, options).then(({ payload }) => payload, () => null);
  if (!claims || claims.epoch < (await readMinEpoch())) return answer(response, 403, "This pass is not valid.");
  const visit = `${claims.sub} ${claims.visit}`;
  if (sessionIds.has(visit) && sessionIds.get(visit) !== sessionId) return answer(response, 403, "This pass is in use.");
  const id = sessionIds.get(visit) ?? randomUUID();
  sessionIds.set(visit, id);
  sessions.set(id, { pass, visit, token: claims.sub, endsAtMs: claims.exp * 1_000 });
  redirect(response, ownPath(url.searchParams.get("return")), { "Set-Cookie": `shop=${id}; Path=/; HttpOnly; SameSite=Lax` });
}

// The queue decides, also after the pass has ended. The slot is free when the order is placed.
async function order(session, response) {
  const { isOk, code } = await callQueue(`/entries/${session.token}/validate`, { pass: session.pass });
  if (!isOk) return answer(response, 409, `The order was not placed: ${code}.`);
  await callQueue(`/entries/${session.token}/complete`, { pass: session.pass });
  session.endsAtMs = 0;
  answer(response, 200, "<title>Thank you</title>Thank you.");
}

async function serve(request, response) {
  requests++;
  const url = new URL(request.url, "http://shop");
  const sessionId = /(?:^|; )shop=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1];
  const session = sessions.get(sessionId);
  if (url.pathname === "/enter") return enter(url, sessionId, response);
  if (!url.pathname.startsWith("/checkout")) return answer(response, 200, '<title>Shop</title><a href="/checkout">Checkout</a>');
  const isOpen = session && Date.now() < session.endsAtMs;
  if (request.method === "POST" && session) return order(session, response);
  const back = encodeURIComponent(url.pathname + url.search);
  if (!isOpen) return redirect(response, `${WAITING_ROOM}/?queue=${encodeURIComponent(QUEUE)}&return=${back}`);
  answer(response, 200, `<title>Checkout</title><form method="post"><button>Order</button></form>`);
}

setInterval(() => {
  const tps = Math.round(requests / (LOAD_REPORT_MS / 1_000));
  requests = 0;
  callQueue("/load", { tps, healthy: true }).catch((error) => console.error(`the load report failed: ${error.message}`));
}, LOAD_REPORT_MS).unref();

const server = createServer((request, response) => {
  serve(request, response).catch((error) => {
    console.error(error);
    answer(response, 503, "Please try again in a moment.");
  });
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
