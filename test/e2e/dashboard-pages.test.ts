import { readdirSync } from "node:fs";
import { join } from "node:path";
import { openApiDocument } from "../../edge/openapi/document";
import { send } from "../harness/bridge";
import { sharedService } from "../harness/shared-service";

const { dashboardUrl, url } = sharedService();
const ask = (path: string, method: string) =>
  send(dashboardUrl, path, { method, headers: { "sec-fetch-site": "none" }, body: "" });

test.each([
  ["/", "text/html"],
  ["/connect", "text/html"],
  ["/docs", "text/html"],
  ["/guides", "text/html"],
  ["/guides/", "text/html"],
  ["/guides/bridge-guide", "text/html"],
  ["/guides/bridge-kit", "text/html"],
  ["/guides/guides.css", "text/css"],
  ["/openapi.json", "application/json"],
  ["/favicon.ico", "image/svg+xml"],
  ["/favicon.svg", "image/svg+xml"],
  ["/theme.js", "application/javascript"],
  ["/early.js", "application/javascript"],
])("%s is served, and HEAD is answered like GET", async (path, type) => {
  const [got, head] = [await ask(path, "GET"), await ask(path, "HEAD")];
  expect([got.status, head.status]).toEqual([200, 200]);
  expect(got.headers["content-type"]).toContain(type);
  expect(head.headers["content-type"]).toBe(got.headers["content-type"]);
  expect([head.body.length, got.body.length > 0]).toEqual([0, true]);
});

test.each([
  ["/api/session", 204],
  ["/api/workspaces", 401],
  ["/guides/no-such-guide", 404],
  ["/guides/..%2findex", 404],
  ["/no-such-page", 404],
])("%s is answered with %d, to GET and to HEAD", async (path, status) => {
  expect((await ask(path, "GET")).status).toBe(status);
  expect((await ask(path, "HEAD")).status).toBe(status);
});

const PAGES_OF_NOTHING = [
  "/no-such-page",
  "/guides/no-such-guide",
  "/workspaces/x/y",
  "/%zz",
  "/guides/..%2findex",
];
const ACCEPT = "text/html,application/xhtml+xml,*/*;q=0.8";

test.each(PAGES_OF_NOTHING)(
  "a browser that opens the unknown path %s gets the dashboard with 404",
  async (path) => {
    const home = await send(dashboardUrl, "/");
    const { status, headers, body } = await send(dashboardUrl, path, { headers: { accept: ACCEPT } });
    expect([status, headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
    expect(body.toString()).toBe(home.body.toString());
    expect(headers["content-security-policy"]).toBe(home.headers["content-security-policy"]);
    const head = await send(dashboardUrl, path, { method: "HEAD", headers: { accept: ACCEPT } });
    expect([head.status, head.body.length]).toEqual([404, 0]);
  },
);

test.each([
  ["GET", "/no-such-page", "*/*"],
  ["GET", "/no-such-page", "application/json"],
  ["GET", "/api/no-such-route", ACCEPT],
  ["POST", "/no-such-page", ACCEPT],
])("%s %s with the Accept header %s is answered with the error body of 404", async (method, path, accept) => {
  const { status, headers, json } = await send(dashboardUrl, path, { method, headers: { accept }, body: "" });
  expect([status, headers["content-type"]]).toEqual([404, "application/json; charset=utf-8"]);
  expect(json).toEqual({ statusCode: 404, message: "Not found.", error: "Not Found" });
});

test("the public listener answers unknown paths with the JSON error body, even to browsers", async () => {
  const { status, json } = await send(url, "/no-such-page", { headers: { accept: ACCEPT } });
  expect([status, json]).toEqual([404, expect.objectContaining({ statusCode: 404, error: "Not Found" })]);
});

test("the list of guides links to each guide, and each guide links back to the list", async () => {
  const text = async (path: string) => (await send(dashboardUrl, path)).body.toString();
  const index = await text("/guides");
  const links = [...index.matchAll(/href="(\/(?:guides\/[a-z-]+|docs))"/g)].map(([, path]) => path ?? "");
  const files = readdirSync(join(__dirname, "../../docs")).filter((file) => file.endsWith(".md"));
  const guides = files.map((file) => file.slice(0, -".md".length)).filter((name) => name !== "style");
  const names = [...guides, "bridge-kit", "bridges", "irc-bridge", "matrix-bridge"];
  expect(links).toEqual(expect.arrayContaining(["/docs", ...names.map((name) => `/guides/${name}`)]));
  expect(links).not.toContain("/guides/style");
  for (const path of new Set(links)) {
    expect((await send(dashboardUrl, path)).status).toBe(200);
    if (path !== "/docs") expect(await text(path)).toContain('href="/guides"');
  }
});

test("the HTML of the API reference already contains the introduction, the signature, and each request and push", async () => {
  const page = (await ask("/docs", "GET")).body.toString();
  const { info, servers, paths, webhooks } = openApiDocument(url);
  expect(page).toContain(`<title>${info.title} ${info.version}: reference</title>`);
  expect(page).toContain("Reject a timestamp more than 5 minutes");
  expect(page).toContain("<code>t=&lt;unix seconds&gt;,v1=&lt;hex&gt;</code>");
  for (const each of servers) expect(page).toContain(`Base URL: <code>${each.url}</code>`);
  for (const [path, calls] of Object.entries({ ...paths, ...webhooks })) {
    for (const { summary } of Object.values(calls)) {
      expect(page).toMatch(
        new RegExp(`<code>(?:GET |POST )?${path.replaceAll(/[{}]/g, "\\$&")}</code> ${summary}`),
      );
    }
  }
});

test("each answer of the API names the release of the page, so that an open page notices a new release", async () => {
  const page = (await ask("/", "GET")).body.toString();
  for (const path of ["/api/session", "/api/workspaces"]) {
    const { headers } = await ask(path, "GET");
    expect(headers["x-dashboard-script"]).toMatch(/^\/assets\/index-[\w-]+\.js$/);
    expect(page).toContain(`src="${String(headers["x-dashboard-script"])}"`);
    expect(headers["x-dashboard-built"]).toMatch(/^\d{13}$/);
    expect(page).toContain(`<meta name="built" content="${String(headers["x-dashboard-built"])}">`);
  }
});
