// The functions of the distribution, as CloudFront would run them: they are text in template.yaml.
import { expect, test } from "@playwright/test";
import { readFileSync } from "node:fs";

const template = readFileSync(new URL("../../../template.yaml", import.meta.url), "utf8");

/** Language tags, with the language that the page has for each, or `null`. */
const LANGUAGE_CASES: Record<string, string | null> = JSON.parse(
  readFileSync(new URL("../../../web/page/tests/language_cases.json", import.meta.url), "utf8"),
).languages;

interface ViewerRequest {
  method: string;
  uri: string;
  querystring: Record<string, unknown>;
  cookies: Record<string, unknown>;
  headers: Record<string, { value: string }>;
  statusCode?: number;
}

/** Runs the function of a resource of the template. */
function run(resource: string, request: Partial<ViewerRequest>): ViewerRequest {
  const text = template.split(`\n  ${resource}:\n`)[1]!.split("FunctionCode: |\n")[1]!;
  const lines = text.split("\n");
  const code = lines.slice(0, lines.findIndex((line) => /^ {0,4}\S/.test(line)));
  const handler = new Function(`${code.join("\n")}; return handler;`)();
  const sent = { method: "GET", querystring: {}, cookies: {}, headers: { host: { value: "wait.example" } }, ...request };
  return handler({ request: sent });
}

/** The headers that the distribution would pass on to the API. */
function passedOn(): string[] {
  const policy = template.split("\n  CdnRequestPolicy:\n")[1]!.split(/\n {2}\w+:\n/)[0]!;
  return [...policy.matchAll(/^ +- ([\w-]+)$/gm)].map(([, name]) => name!.toLowerCase());
}

test("nothing that one visitor sends reaches the origin of a page that all get", () => {
  const sent = Object.fromEntries(passedOn().map((name) => [name, { value: "poison" }]));
  const answer = run("CdnPageRoutes", {
    uri: "/summer/",
    querystring: { lang: { value: "x" } },
    cookies: { a: { value: "b" } },
    headers: { host: { value: "wait.example" }, ...sent },
  });
  expect(Object.keys(sent).length).toBeGreaterThan(5);
  expect(answer.uri).toBe("/pages/en.html");
  expect([answer.querystring, answer.cookies]).toEqual([{}, {}]);
  const kept = Object.keys(answer.headers).filter((name) => !name.startsWith("cloudfront-"));
  expect(kept).toEqual(["host"]);
});

test("the edge chooses the page by the language of the link, or else by those of the browser", () => {
  const choose = (lang: string | null, accepted: string) => {
    const querystring = lang === null ? {} : { lang: { value: lang } };
    const headers = { host: { value: "wait.example" }, "accept-language": { value: accepted } };
    return run("CdnPageRoutes", { uri: "/summer/", querystring, headers }).uri;
  };
  for (const [tag, language] of Object.entries(LANGUAGE_CASES)) {
    expect(choose(tag, ""), `lang=${tag}`).toBe(`/pages/${language ?? "en"}.html`);
    expect(choose(null, `it, ${tag}`), tag).toBe(`/pages/${language ?? "en"}.html`);
  }
  expect(choose("ko-KR", "ja")).toBe("/pages/ko.html");
  expect(choose("constructor", "it, en;q=0.5, ja;q=0.8")).toBe("/pages/ja.html");
  expect(choose(null, "ja;q=0, ko ; q=0.1")).toBe("/pages/ko.html");
  expect(run("CdnPageRoutes", { method: "HEAD", uri: "/" }).uri).toBe("/pages/en.html");
});

test("the form of the page keeps what it sends, and the API learns the visitor's host", () => {
  const querystring = { queue: { value: "sale:1" } };
  const answer = run("CdnPageRoutes", { method: "POST", uri: "/summer/", querystring });
  expect([answer.uri, answer.querystring]).toEqual(["/", querystring]);
  expect(answer.headers["x-vestibule-host"]).toEqual({ value: "wait.example" });
});

test("addresses that are no page and no public document are 404", () => {
  for (const uri of ["/a/b", "/a/b/", "/a%2Fb/", "/a"]) expect(run("CdnPageRoutes", { uri }).statusCode, uri).toBe(404);
  const documents = "CdnRoutes";
  for (const uri of ["/queues/a%3A1", "/queues/a:1/", "/queues/a:1//"]) expect(run(documents, { uri }).uri, uri).toBe("/queues/a:1");
  for (const uri of ["/", "/queues/", "/queues/a/entries", "/queues/a%2Fb"]) {
    expect(run(documents, { uri }).statusCode, uri).toBe(404);
  }
});
