import { send } from "../harness/bridge";
import { BUILD } from "../harness/build";
import {
  askApi,
  signIn,
  startDashboardEdge,
  type ApiRequest,
  type DashboardEdge,
} from "../harness/dashboard";
import { expectQuiet } from "../harness/output";
import { startEdge, TOKENS } from "../harness/processes";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let behindTls: DashboardEdge;
beforeAll(async () => {
  const settings = { TRUST_PROXY: "127.0.0.1", PUBLIC_URL: "https://hooks.example/" };
  behindTls = await startDashboardEdge(service.core.port, settings);
});
afterAll(async () => {
  await behindTls.edge.stop();
});

const ask = (path: string, request?: ApiRequest) => askApi(service.dashboardUrl, path, request);
/** Sends a request from `from`, an address that a trusted proxy reports. Each address has its own limit of attempts. */
const postFrom = (from: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
  askApi(behindTls.url, path, { method: "POST", body, headers: { ...headers, "x-forwarded-for": from } });
const signedIn = () => signIn(service.dashboardUrl);

describe("signing in:", () => {
  test("a sign-in requires an operator's token, and sets a cookie that scripts and other sites cannot use", async () => {
    const answer = await ask("/session", { method: "POST", body: { token: TOKENS.operator } });
    expect(answer.status).toBe(200);
    expect(answer.headers["set-cookie"]).toEqual([
      expect.stringMatching(/^dashboard=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    expect(answer.json).toEqual({
      tokenName: "operator",
      workspaces: null,
      publicUrl: service.url,
      version: BUILD.version,
      endsAt: expect.stringMatching(/Z$/) as string,
    });
    expect(answer.body.toString()).not.toContain(TOKENS.operator);
  });

  test("behind TLS, a sign-in sets a Secure cookie for this host only, and tells browsers to use only https", async () => {
    const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "ops.example" };
    const answer = await askApi(behindTls.url, "/session", {
      method: "POST",
      body: { token: TOKENS.operator },
      headers,
    });
    expect(answer.headers["set-cookie"]).toEqual([
      expect.stringMatching(/^__Host-dashboard=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
    ]);
    expect(answer.headers["strict-transport-security"]).toBe("max-age=31536000");
    // `publicUrl` is the setting `PUBLIC_URL`: the address at which bridges reach the service.
    expect(answer.json).toMatchObject({ publicUrl: "https://hooks.example" });
  });

  test.each([
    ["an unknown token", { token: "nobody-has-this-token" }, 401],
    ["a token of another role", { token: TOKENS.game }, 401],
    ["a token in typographic quotes", { token: `“${TOKENS.operator}”` }, 401],
    ["a token with a line break", { token: `${TOKENS.operator}\r\nx` }, 401],
    ["a code that is not ASCII", { code: "nobody-máde-this-code" }, 401],
    ["an unknown code", { code: "nobody-made-this-code" }, 401],
    ["an empty token", { token: "" }, 400],
    ["no token", {}, 400],
    ["a token that is not a string", { token: 1 }, 400],
    ["a token and a code", { token: TOKENS.operator, code: "x" }, 400],
  ])("a sign-in fails with %s", async (_what, body, status) => {
    const answer = await postFrom("203.0.113.1", "/session", body);
    expect([answer.status, answer.headers["set-cookie"]]).toEqual([status, undefined]);
  });

  test("a sign-in link works once, and only an operator's token can create a link", async () => {
    const place = "203.0.113.2";
    const make = (token: string) =>
      postFrom(place, "/sign-in-links", undefined, { authorization: `Bearer ${token}` });
    for (const wrong of [TOKENS.game, `${TOKENS.operator}é`, `«${TOKENS.operator}»`]) {
      expect((await make(wrong)).status).toBe(401);
    }
    const made = await make(TOKENS.operator);
    expect(made.status).toBe(201);
    const { path } = made.json as { path: string };
    expect(path).not.toContain(TOKENS.operator);
    const code = path.slice("/#sign-in=".length);
    const [first, second] = [
      await postFrom(place, "/session", { code }),
      await postFrom(place, "/session", { code }),
    ];
    expect([first.status, second.status]).toEqual([200, 401]);
    expect(second.json).toMatchObject({ message: expect.stringContaining("already been used") as string });
  });
});

// time: smoke
test("after ten attempts with invalid tokens, an address gets 429, even if it also sent valid tokens; other addresses can still sign in", async () => {
  const attempt = async (from: string, token: string): Promise<number> =>
    (await postFrom(from, "/session", { token })).status;
  const guesser = "203.0.113.3";
  const statuses: number[] = [];
  for (let i = 0; i < 10; i++) {
    statuses.push(await attempt(guesser, `guess-number-${i}`));
    if (i < 9) expect(await attempt(guesser, TOKENS.operator)).toBe(200);
  }
  expect(statuses).toEqual(Array(10).fill(401));
  expect([await attempt(guesser, "guess"), await attempt(guesser, TOKENS.operator)]).toEqual([429, 429]);
  expect(await attempt("203.0.113.4", TOKENS.operator)).toBe(200);
});

describe("sessions:", () => {
  test("every request about workspaces requires a session", async () => {
    for (const path of ["/workspaces", "/workspaces/x", "/workspaces/x/watch", "/health?ids=x"]) {
      expect((await ask(path)).status).toBe(401);
    }
    const cookie = await signedIn();
    expect((await ask("/workspaces", { cookie })).status).toBe(200);
    expect((await ask("/session", { cookie })).status).toBe(200);
    expect((await ask("/session")).status).toBe(204);
  });

  test("a session is invalid after signing out", async () => {
    const cookie = await signedIn();
    const left = await ask("/session", { method: "DELETE", cookie });
    expect(left.status).toBe(204);
    expect(left.headers["set-cookie"]).toEqual([expect.stringContaining("Max-Age=0")]);
    expect((await ask("/workspaces", { cookie })).status).toBe(401);
  });

  test.each([
    ["another site", "GET", { "sec-fetch-site": "cross-site" }],
    ["another port of this host", "GET", { "sec-fetch-site": "same-site" }],
    ["another site's form", "POST", { "sec-fetch-site": "cross-site" }],
    ["a form in an old browser", "POST", { "sec-fetch-site": "", "x-dashboard": "" }],
  ])("cannot be used by %s", async (_who, method, headers) => {
    const cookie = await signedIn();
    const body = method === "POST" ? { name: "forged" } : undefined;
    const answer = await ask("/workspaces", { method, headers, cookie, body });
    expect(answer.status).toBe(403);
  });
});

describe("the dashboard's listener:", () => {
  test.each(["/", "/connect", "/workspaces/11111111-2222-4333-8444-555555555555", "/docs"])(
    "%s is a page without inline scripts and styles, and other sites cannot embed it in a frame",
    async (path) => {
      const { status, headers, body } = await send(service.dashboardUrl, path);
      const policy = String(headers["content-security-policy"]);
      expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      expect(body.toString()).not.toMatch(/<style|style=|<script(?![^>]*src=)/);
      expect(headers["cache-control"]).toBe("no-cache");
      expect(headers["x-content-type-options"]).toBe("nosniff");
    },
  );

  test("all pages except the API reference enforce Trusted Types", async () => {
    const policyOf = async (path: string) =>
      (await send(service.dashboardUrl, path)).headers["content-security-policy"];
    for (const path of ["/", "/connect", "/guides", "/openapi.json", "/nowhere", "/docs/x"]) {
      expect(await policyOf(path)).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    }
    expect(await policyOf("/docs")).toContain("script-src 'self'; style-src 'self';");
    expect(await policyOf("/docs")).not.toContain("trusted-types");
  });

  async function assetsOf(path: string): Promise<string[]> {
    const page = (await send(service.dashboardUrl, path)).body.toString();
    return [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, asset]) => asset ?? "");
  }

  /** Returns the files that the scripts of a page load later. */
  async function laterAssetsOf(assets: readonly string[]): Promise<string[]> {
    const scripts = assets.filter((path) => path.endsWith(".js"));
    const texts = await Promise.all(scripts.map(async (path) => send(service.dashboardUrl, path)));
    return texts.flatMap(({ body }) =>
      [...body.toString().matchAll(/["'`](assets\/[\w-]+\.(?:js|css))["'`]/g)].map(([, path]) => `/${path}`),
    );
  }

  test.each(["/", "/docs"])(
    "each file that the page %s loads has a hash in its name, is cached for a year, and is smaller than 500 KB when compressed",
    async (page) => {
      const assets = await assetsOf(page);
      expect(assets).toHaveLength(2);
      for (const path of [...assets, ...(await laterAssetsOf(assets))]) {
        const answer = await send(service.dashboardUrl, path, { headers: { "accept-encoding": "gzip" } });
        const kept = answer.headers["cache-control"];
        expect([answer.status, kept]).toEqual([200, "public, max-age=31536000, immutable"]);
        expect(answer.body.length).toBeLessThan(500_000);
      }
    },
  );

  test.each([
    "/nowhere",
    "/assets/none.js",
    "/../package.json",
    "/%2e%2e/package.json",
    "/api/nowhere",
    "/%zz",
  ])("a path without a page or file is answered with 404: %s", async (path) => {
    const { status, headers } = await send(service.dashboardUrl, path);
    expect([status, headers["x-frame-options"]]).toEqual([404, "DENY"]);
  });

  test("the answer to a HEAD request has the headers of the answer to GET, but no body", async () => {
    const assets = [...(await assetsOf("/")), ...(await assetsOf("/docs"))];
    for (const path of ["/", "/connect", "/workspaces/x", "/docs", "/openapi.json", ...assets]) {
      const { date: _date, ...headers } = (await send(service.dashboardUrl, path)).headers;
      const answer = await send(service.dashboardUrl, path, { method: "HEAD" });
      expect([answer.status, answer.body.length]).toEqual([200, 0]);
      expect(answer.headers).toMatchObject(headers);
    }
  });

  test("the edge reads any number of headers within 16 KB", async () => {
    const cookie = await signedIn();
    const headers = { a: Array<string>(2_500).fill(""), cookie };
    expect((await send(service.dashboardUrl, "/api/workspaces", { headers })).status).toBe(200);
  });

  test("the listener for bridges does not serve the dashboard, and the dashboard's listener does not serve /hooks", async () => {
    expect((await send(service.url, "/")).status).toBe(404);
    expect((await send(service.dashboardUrl, "/hooks/x", { method: "POST", body: "{}" })).status).toBe(404);
  });

  test("an edge without DASHBOARD_LISTEN serves no dashboard", async () => {
    const edge = await startEdge(service.core.port);
    expect(edge.log.find(({ msg }) => msg === "edge is ready")).not.toHaveProperty("dashboardPort");
    await edge.stop();
  });
});

test("no token is logged", () => {
  expectQuiet([service.core, service.edge, behindTls.edge], Object.values(TOKENS));
});
