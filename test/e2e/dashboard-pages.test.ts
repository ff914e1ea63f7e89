import { send } from "../harness/bridge";
import { sharedService } from "../harness/shared-service";

const { dashboardUrl } = sharedService();
const ask = (path: string, method: string) =>
  send(dashboardUrl, path, { method, headers: { "sec-fetch-site": "none" }, body: "" });

test.each([
  ["/", "text/html"],
  ["/connect", "text/html"],
  ["/docs", "text/html"],
  ["/guides/bridge-guide", "text/html"],
  ["/guides/bridge-kit", "text/html"],
  ["/guides/guides.css", "text/css"],
  ["/openapi.json", "application/json"],
  ["/favicon.ico", "image/svg+xml"],
  ["/favicon.svg", "image/svg+xml"],
  ["/theme.js", "application/javascript"],
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
