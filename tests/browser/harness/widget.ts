// The function of the dashboard's widget under an imitated Lambda, and a page that imitates the dashboard of CloudWatch.
//
// The function is the real program. It asks for its events at a server of this file, which also takes its calls of the admin
// function and passes them to the runner. The page removes what the console of AWS removes, and acts on `cwdb-action`.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { spawn, type ChildProcess } from "node:child_process";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import type { Json } from "./queue.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The ARN by which the console invokes the function. */
export const WIDGET_ARN = "arn:aws:lambda:us-east-1:000000000000:function:shop-widget";

interface Invocation {
  readonly arn: string;
  readonly event: Json;
  readonly done: (html: string) => void;
}

/** The running function. */
export class WidgetFunction {
  readonly #runner: string;
  readonly #server: Server;
  readonly #waiting: Invocation[] = [];
  #asking: ((invocation: Invocation) => void) | undefined;
  #current: Invocation | undefined;
  #child: ChildProcess | undefined;

  constructor(runner: string) {
    this.#runner = runner;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", () => resolve()));
    const host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const program = process.env["VESTIBULE_WIDGET_BIN"] ?? join(root, "target/debug/widget");
    this.#child = spawn(program, {
      stdio: "inherit",
      env: {
        AWS_LAMBDA_RUNTIME_API: host,
        AWS_LAMBDA_FUNCTION_NAME: "widget",
        AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "256",
        AWS_LAMBDA_LOG_GROUP_NAME: "widget",
        AWS_LAMBDA_LOG_STREAM_NAME: "widget",
        AWS_ENDPOINT_URL: `http://${host}`,
        AWS_REGION: "us-east-1",
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test",
        VESTIBULE_ADMIN_FUNCTION: "admin",
        RUST_LOG: "warn",
      },
    });
  }

  /** Invokes the function by an ARN and returns its HTML. */
  invoke(arn: string, event: Json): Promise<string> {
    return new Promise((done) => {
      const invocation = { arn, event, done };
      const asking = this.#asking;
      this.#asking = undefined;
      if (asking) asking(invocation);
      else this.#waiting.push(invocation);
    });
  }

  stop(): void {
    this.#child?.kill("SIGKILL");
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (path.endsWith("/invocation/next")) {
      const next = this.#waiting.shift() ?? (await new Promise<Invocation>((resolve) => (this.#asking = resolve)));
      this.#current = next;
      response.writeHead(200, {
        "content-type": "application/json",
        "lambda-runtime-aws-request-id": "1",
        "lambda-runtime-invoked-function-arn": next.arn,
        "lambda-runtime-deadline-ms": String(Date.now() + 30_000),
      });
      response.end(JSON.stringify(next.event));
      return;
    }
    const body = await readBody(request);
    if (path.endsWith("/response") || path.endsWith("/error")) {
      response.writeHead(202).end("{}");
      this.#current?.done(path.endsWith("/error") ? body : (JSON.parse(body) as string));
      return;
    }
    // An invocation of the admin function.
    const answer = await fetch(`${this.#runner}/_admin`, { method: "POST", headers: { "content-type": "application/json" }, body });
    response.writeHead(200, { "content-type": "application/json" }).end(await answer.text());
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

/** How a dashboard shows the widget. */
export interface Dashboard {
  readonly theme: "light" | "dark";
  readonly params: Json;
}

/** Opens a dashboard with the widget. Returns the invocations that its buttons made, by their ARNs. */
export async function openDashboard(page: Page, widget: WidgetFunction, { theme, params }: Dashboard): Promise<string[]> {
  const invoked: string[] = [];
  const call = (arn: string, event: Json, forms: Json) =>
    widget.invoke(arn, {
      ...event,
      widgetContext: { theme, forms: { all: forms }, timezone: { offsetISO: "+00:00" }, params },
    });
  await page.exposeFunction("invokeFunction", (arn: string, event: Json, forms: Json) => {
    invoked.push(arn);
    return call(arn, event, forms);
  });
  const colours = theme === "dark" ? "#0f1b2a" : "#fff";
  await page.setContent(`<!doctype html><html lang="en"><title>Dashboard</title><meta name="viewport" content="width=device-width">
    <body style="margin:0;background:${colours}"><main><h1 style="margin:0;font:16px sans-serif;color:#333;background:#fff">shop</h1><div id="widget"></div></main></body></html>`);
  await page.evaluate(imitateConsole);
  await page.evaluate((html) => (globalThis as any).showWidget(html), await call(WIDGET_ARN, params, {}));
  return invoked;
}

// Runs in the page. The console removes scripts, frames and handlers, and makes the element before a cwdb-action a button.
function imitateConsole(): void {
  const place = document.querySelector("#widget")!;
  const readForms = () =>
    Object.fromEntries([...place.querySelectorAll<HTMLInputElement>("input[name]")].map(({ name, value }) => [name, value]));
  (globalThis as any).showWidget = (html: string) => {
    const parsed = new DOMParser().parseFromString(html, "text/html");
    for (const element of parsed.querySelectorAll("script, iframe, object, embed, link, meta, base")) element.remove();
    for (const element of parsed.querySelectorAll("*"))
      for (const { name, value } of [...element.attributes])
        if (name.startsWith("on") || /^\s*javascript:/i.test(value)) element.removeAttribute(name);
    place.replaceChildren(...parsed.body.childNodes);
    for (const action of place.querySelectorAll<HTMLElement>("cwdb-action")) {
      const [endpoint, question] = [action.getAttribute("endpoint")!, action.getAttribute("confirmation")];
      const event = JSON.parse(action.textContent!);
      action.hidden = true;
      action.previousElementSibling!.addEventListener("click", async () => {
        if (question !== null && !confirm(question)) return;
        const answer = await (globalThis as any).invokeFunction(endpoint, event, readForms());
        (globalThis as any).showWidget(answer);
      });
    }
  };
}
