import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { send, type Answer } from "../harness/bridge";
import { askApi, signIn } from "../harness/dashboard";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
const { dashboardUrl } = service;
const DECODE: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
};

const get = (path: string, accepted = "identity") =>
  send(dashboardUrl, path, { headers: { "accept-encoding": accepted } });

function textOf({ headers, body }: Answer): string {
  const encoding = headers["content-encoding"];
  return (encoding === undefined ? body : DECODE[encoding]?.(body))?.toString() ?? "";
}

async function assetsOf(page: string): Promise<string[]> {
  const html = textOf(await get(page));
  return [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, asset]) => asset ?? "");
}

test("scripts, stylesheets and guides are sent with the compression that the browser accepts", async () => {
  const assets = [...(await assetsOf("/")), ...(await assetsOf("/docs"))];
  expect(assets).toHaveLength(4);
  for (const path of [...assets, "/guides", "/guides/bridge-guide", "/guides/guides.css"]) {
    const plain = await get(path);
    expect([path, plain.headers["content-encoding"]]).toEqual([path, undefined]);
    for (const encoding of ["gzip", "br"]) {
      const answer = await get(path, encoding);
      expect([path, answer.headers["content-encoding"]]).toEqual([path, encoding]);
      expect(answer.headers["content-type"]).toBe(plain.headers["content-type"]);
      expect(answer.headers["cache-control"]).toBe(plain.headers["cache-control"]);
      expect(answer.headers["vary"]).toContain("accept-encoding");
      expect(answer.body.length).toBeLessThan(plain.body.length / 2);
      expect(textOf(answer)).toBe(textOf(plain));
    }
  }
});

test.each(["dashboard", "demo/chat/page"])(
  "each compressed copy in dist/%s contains the same text as the final version of its file",
  (folder) => {
    const root = join(__dirname, "../../dist", folder);
    const files = readdirSync(root, { recursive: true, encoding: "utf8" });
    const copies = files.filter((file) => /\.(?:gz|br)$/.test(file));
    expect(copies.length).toBeGreaterThanOrEqual(4);
    for (const copy of copies) {
      const path = join(root, copy);
      const decode = DECODE[copy.endsWith(".gz") ? "gzip" : "br"];
      const content = readFileSync(path.replace(/\.\w+$/, "")).toString();
      expect([copy, decode?.(readFileSync(path)).toString() === content]).toEqual([copy, true]);
      // Vite replaces these placeholders in the last step of its build.
      expect([copy, content.includes("__VITE_")]).toEqual([copy, false]);
    }
  },
);

test.each([
  ["gzip, deflate, br, zstd", "gzip"],
  ["br;q=1, GZIP;q=0.2", "gzip"],
  ["deflate,gzip", "gzip"],
  ["gzip;q=0", undefined],
  ["gzip; q=0.000, br", undefined],
  ["x-gzip", undefined],
  ["identity", undefined],
])(
  "the OpenAPI document is sent to a client with the Accept-Encoding `%s` as %s",
  async (accepted, encoding) => {
    const plain = await send(dashboardUrl, "/openapi.json");
    const answer = await get("/openapi.json", accepted);
    expect([answer.headers["content-encoding"], answer.headers["vary"]]).toEqual([
      encoding,
      "accept-encoding",
    ]);
    expect(textOf(answer)).toBe(textOf(plain));
    const head = await send(dashboardUrl, "/openapi.json", {
      method: "HEAD",
      headers: { "accept-encoding": accepted },
    });
    expect(head.headers["content-length"]).toBe(answer.headers["content-length"]);
  },
);

test("many concurrent requests get the same document, whether it is compressed or not", async () => {
  const plain = textOf(await get("/openapi.json"));
  const answers = await Promise.all(Array.from({ length: 40 }, () => get("/openapi.json", "gzip")));
  expect(answers.some(({ headers }) => headers["content-encoding"] === "gzip")).toBe(true);
  expect(new Set(answers.map(textOf))).toEqual(new Set([plain]));
});

test("long answers of the API are compressed, except for answers that contain a new secret", async () => {
  const cookie = await signIn(dashboardUrl);
  const headers = { "accept-encoding": "gzip" };
  const name = "n".repeat(100);
  const body = {
    name,
    ownerEmail: `${"o".repeat(60)}@example.com`,
    targetUrl: `https://8.8.8.8/${"p".repeat(1_000)}`,
  };
  const made = await askApi(dashboardUrl, "/workspaces", { method: "POST", body, cookie, headers });
  expect([made.status, made.headers["content-encoding"]]).toEqual([201, undefined]);
  expect(made.body.length).toBeGreaterThan(1_000);
  expect(made.json).toHaveProperty("signingSecret");

  const { workspace } = made.json as { workspace: { id: string } };
  const plain = await askApi(dashboardUrl, `/workspaces/${workspace.id}`, { cookie });
  const answer = await askApi(dashboardUrl, `/workspaces/${workspace.id}`, { cookie, headers });
  expect([plain.headers["content-encoding"], answer.headers["content-encoding"]]).toEqual([
    undefined,
    "gzip",
  ]);
  expect(JSON.parse(textOf(answer))).toMatchObject({ workspace: { id: workspace.id, name } });
  expect(answer.headers["cache-control"]).toBe("no-store");
});

test("live updates are not compressed, so that each is sent immediately", async () => {
  const cookie = await signIn(dashboardUrl);
  const { id } = await service.workspaces.make();
  const { hostname, port } = new URL(dashboardUrl);
  const path = `/api/workspaces/${id}/watch`;
  const headers = { cookie, "sec-fetch-site": "same-origin", "accept-encoding": "gzip" };
  const asked = request({ hostname, port, path, agent: false, headers });
  const first = await new Promise<string>((resolve, reject) => {
    asked.on("error", reject).on("response", (response) => {
      expect(response.headers["content-encoding"]).toBeUndefined();
      response.setEncoding("utf8").once("data", resolve);
    });
    asked.end();
  });
  expect(first).toMatch(/^retry: /);
  asked.destroy();
});
