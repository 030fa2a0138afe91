// A server between a shop and the waiting room, which demands what API Gateway does of a stack whose ServiceAuth is iam:
// a request of the protected service needs a signature of AWS (Signature Version 4) by a key that it knows. The signature is
// calculated by an implementation that no shop uses.

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

import { AwsV4Signer } from "aws4fetch";

const SERVICE_ROUTE = /\/(validate|complete|load)$/;
const AUTHORIZATION = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=/;
const AGE_MS_MAX = 300_000;

/** The credentials of a role, as an AWS SDK has them. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** A gateway that forwards the requests of the protected service only if their signatures are right. */
export class SignatureGate {
  /** The verbs of the requests whose signatures were right, in order. */
  readonly accepted: string[] = [];
  /** The verbs of the other requests of the service. */
  readonly refused: string[] = [];
  readonly #target: string;
  readonly #credentials: Credentials;
  readonly #region: string;
  readonly #server = createServer((request, response) => void this.#forward(request, response));

  private constructor(target: string, credentials: Credentials, region: string) {
    this.#target = target;
    this.#credentials = credentials;
    this.#region = region;
  }

  /** Starts a gate in front of the waiting room at `target`. */
  static async start(target: string, credentials: Credentials, region: string): Promise<SignatureGate> {
    const gate = new SignatureGate(target, credentials, region);
    await new Promise<void>((resolve) => gate.#server.listen(0, "127.0.0.1", () => resolve()));
    return gate;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = new Uint8Array(await buffer(request));
    const [, verb] = SERVICE_ROUTE.exec(request.url!) ?? [];
    if (verb) {
      const isSigned = await this.#isSigned(request, body);
      (isSigned ? this.accepted : this.refused).push(verb);
      if (!isSigned) {
        response.writeHead(403, { "Content-Type": "application/problem+json" });
        response.end(JSON.stringify({ code: "signature-refused" }));
        return;
      }
    }
    const answer = await fetch(this.#target + request.url, {
      method: request.method!,
      headers: { "Content-Type": request.headers["content-type"] ?? "application/json" },
      body: request.method === "POST" ? body : null,
      redirect: "manual",
    });
    response.writeHead(answer.status, { "Content-Type": answer.headers.get("Content-Type") ?? "" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  }

  async #isSigned(request: IncomingMessage, body: Uint8Array<ArrayBuffer>): Promise<boolean> {
    const { authorization = "" } = request.headers;
    const datetime = String(request.headers["x-amz-date"]);
    const [, accessKeyId, , region, service, names = ""] = AUTHORIZATION.exec(authorization) ?? [];
    const signedNames = names.split(";");
    const isForUs = region === this.#region && service === "execute-api" && accessKeyId === this.#credentials.accessKeyId;
    // Without these, the signature would be valid for another host, at any time, or for another caller.
    const isComplete = ["host", "x-amz-date", "x-amz-security-token"].every((name) => signedNames.includes(name));
    const isFresh = Math.abs(parseDate(datetime) - Date.now()) < AGE_MS_MAX;
    if (!isForUs || !isComplete || !isFresh) return false;
    // The sender may name the hash of the body, which is then to be right.
    const hash = createHash("sha256").update(body).digest("hex");
    const received: Record<string, unknown> = { ...request.headers, "x-amz-content-sha256": hash };
    const headers = signedNames.map((name): [string, string] => [name, String(received[name])]);
    const signer = new AwsV4Signer({
      ...this.#credentials,
      method: request.method!,
      url: `http://${request.headers.host}${request.url}`,
      headers: headers.filter(([name]) => name !== "host" && name !== "x-amz-date" && name !== "x-amz-security-token"),
      body,
      region,
      service,
      datetime,
      allHeaders: true,
    });
    return (await signer.signature()) === /Signature=([0-9a-f]{64})$/.exec(authorization)?.[1];
  }
}

// The form of the header X-Amz-Date is 20260102T030405Z.
function parseDate(text: string): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}
