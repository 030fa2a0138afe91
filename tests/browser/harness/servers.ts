// The servers of one worker: the local runner, and nginx in front of it.
//
// nginx has the configuration of infra/nginx.conf.template, with a second server for the pages of these tests. That one
// has another origin, as the site of a front end has in production.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { ServerProcess, findFreePorts } from "./processes.js";

// Another process may take a port between its choice and the start of nginx.
const ATTEMPTS = 5;
const CONNECTIONS = 2_048;

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The servers of one worker. */
export interface Servers {
  /** The address of nginx, which has the waiting page and the API. */
  readonly base: string;
  /** The address of the pages of these tests. */
  readonly site: string;
  /** The address of the runner, without nginx. */
  readonly runner: string;
  /** The address of the console, with the key of the runner that is running. */
  readonly console: string;
  /** Kills the runner. nginx stays. */
  killRunner(): Promise<void>;
  /** Starts the runner again, with the same folder and port. Returns at once if it runs. */
  restartRunner(): Promise<void>;
  /** Stops all servers and removes their folder. */
  stop(): Promise<void>;
}

/** Starts the servers on free ports. */
export async function startServers(): Promise<Servers> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const servers = await startOnFreePorts();
    if (servers) return servers;
  }
  throw new Error(`nginx ended ${ATTEMPTS} times before it listened; its messages are above`);
}

async function startOnFreePorts(): Promise<Servers | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "vestibule-browser-"));
  const [port = 0, sitePort = 0] = await findFreePorts(2);
  const site = `http://localhost:${sitePort}`;
  const program = process.env["VESTIBULE_LOCAL_BIN"] ?? join(root, "target/debug/vestibule-local");
  let runnerPort = 0;
  let consoleAddress = "";
  let runner: ServerProcess | undefined;
  let nginx: ServerProcess | undefined;

  // A page that was just built can be tested without compiling it into the runner.
  const web = process.env["VESTIBULE_WEB"];
  const webOptions = web ? ["--web", web] : [];

  const startRunner = async (): Promise<void> => {
    const dir = ["--dir", join(folder, "runner"), "--port", String(runnerPort)];
    const options = ["--demo-visitors", "0", "--cors", site, "--quiet", ...webOptions];
    runner = new ServerProcess(program, [...dir, ...options]);
    const [greeting = "", console = ""] = await runner.readLines(2);
    runnerPort = Number(/:(\d+)\/?$/.exec(greeting)?.[1]);
    consoleAddress = readConsoleAddress(console);
  };
  const killRunner = async (): Promise<void> => {
    await runner?.stop();
    runner = undefined;
  };

  // Returns whether nginx listens.
  const startNginx = async (): Promise<boolean> => {
    await writeFile(join(folder, "nginx.conf"), await fillTemplate(folder, port, runnerPort));
    await writeFile(join(folder, "site.server"), describeSite(sitePort));
    // Before it has read its configuration, nginx would write to the log of the system.
    const options = ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"];
    nginx = new ServerProcess(process.env["VESTIBULE_NGINX"] ?? "nginx", options);
    return nginx.waitUntilListening(port);
  };
  const stop = async (): Promise<void> => {
    await Promise.all([killRunner(), nginx?.stop()]);
    await rm(folder, { recursive: true });
  };

  let isListening = false;
  try {
    await startRunner();
    isListening = await startNginx();
  } finally {
    if (!isListening) await stop();
  }
  if (!isListening) return undefined;
  return {
    base: `http://127.0.0.1:${port}`,
    site,
    runner: `http://127.0.0.1:${runnerPort}`,
    get console() {
      return consoleAddress;
    },
    killRunner,
    restartRunner: async () => (runner ? undefined : startRunner()),
    stop,
  };
}

/** The address in the line in which a program says where its console is. */
export function readConsoleAddress(line: string): string {
  const address = / is at (http:\S+)$/.exec(line)?.[1];
  if (!address) throw new Error(`no address of a console: ${line}`);
  return address;
}

async function fillTemplate(folder: string, port: number, runnerPort: number): Promise<string> {
  const values: Record<string, string> = {
    DIRECTORY: folder,
    PORT: String(port),
    ORIGIN: `127.0.0.1:${runnerPort}`,
    CONNECTIONS: String(CONNECTIONS),
  };
  const template = await readFile(join(root, "infra/nginx.conf.template"), "utf8");
  // A test that stops the runner makes nginx log each refused connection.
  return template.replace("stderr warn", "stderr crit").replace(/@([A-Z]+)@/g, (_, name: string) => values[name] ?? "");
}

// The pages of these tests, beside the bundles of the library as they are built now.
function describeSite(port: number): string {
  return `server {
  listen 127.0.0.1:${port};
  types { text/html html; text/javascript js; }
  log_not_found off;
  root ${join(root, "tests/browser/pages")};
  location ~ [.]js$ { root ${join(root, "web/client/dist")}; }
}
`;
}
