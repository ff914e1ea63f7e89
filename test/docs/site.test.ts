import { execFile, execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import staticFiles from "@fastify/static";
import fastify from "fastify";
import { DESKTOP, PHONE, testBrowser } from "../harness/browser";
import { ROOT } from "../harness/compose-file";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";
import { FOUND_FIRST, SEARCHES } from "./searches";

const folder = mkdtempSync(join(tmpdir(), "cb-site-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * The build installs its packages first, which can take minutes on a busy machine. The limit is high enough that only a
 * build that hangs reaches it.
 */
const BUILD_WITHIN_MS = 600_000;

/** Pages that readers open first, and that must show code without scrolling. */
const CODE_FIRST = [
  "README.md",
  "docs/bridge-guide.md",
  "docs/events.md",
  "docs/game-service-guide.md",
  "docs/games/typescript.md",
  "docs/games/python.md",
  "docs/games/go.md",
  "docs/fake-core.md",
  "docs/operator-guide.md",
  "docs/install.md",
  "docs/kubernetes.md",
  "docs/upgrade.md",
  "docs/backup.md",
  "docs/tokens.md",
  "docs/redis.md",
  "docs/alerts.md",
  "docs/operator-events.md",
  "docs/tracing.md",
  "docs/cli.md",
  "docs/troubleshooting.md",
  "kit/README.md",
  "kit/game/README.md",
  "bridges/README.md",
  "bridges/irc/README.md",
  "bridges/matrix/README.md",
  "bridges/xmpp/README.md",
  "demo/chat/README.md",
] as const;

/** The property of a link that this test reads. */
interface Pathed {
  readonly pathname: string;
}

/** Returns the path on the site for a page of the repository. */
function pathInSite(path: string): string {
  if (path === "README.md") return "/overview.html";
  return `/${path.replace(/README\.md$/, "").replace(/\.md$/, ".html")}`;
}
const PROGRAM = join("docs", "site", "build.mjs");
const check = (root: string) => {
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, "--check"], {
    cwd: root,
    encoding: "utf8",
  });
  return { status, stderr };
};

test("a link to a missing page, heading, file or picture fails the build, and the error names the link and its page", () => {
  const root = join(folder, "planted");
  const isOwn = (path: string) => !path.includes("node_modules");
  cpSync(join(ROOT, "docs/site"), join(root, "docs/site"), { recursive: true, filter: isOwn });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write(".gitignore", "node_modules\nignored.md\n");
  write("ignored.md", "# Not in a clone");
  write("docs/guide.md", "# The guide\n\n## Twice\n\n## Twice\n\n```md\n[in an example](nowhere.md)\n```\n");
  write("code/main.ts", "// A file.");
  const alive =
    "[a](docs/guide.md#the-guide) [b](docs/guide.md#twice-1) [c](code/) [d](code/main.ts) [e](https://example.com/x)";
  write("README.md", `# Title\n\n${alive} [f](#title)\n`);
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  expect(check(root)).toEqual({ status: 0, stderr: "" });

  const dead = [
    ["[a](docs/missing.md)", "docs/missing.md", "no such file"],
    ["[b](docs/guide.md#thrice)", "docs/guide.md#thrice", "docs/guide.md has no such heading"],
    ["[c](docs/guide.md#twice-2)", "docs/guide.md#twice-2", "docs/guide.md has no such heading"],
    ["[d](#below)", "#below", "README.md has no such heading"],
    ["[e](code/other.ts)", "code/other.ts", "no such file"],
    ["[f](ignored.md)", "ignored.md", "no such file"],
    ["[g][r]\n\n[r]: docs/reference.md", "docs/reference.md", "no such file"],
    ["![h](picture.png)", "picture.png", "no such file"],
    ['<img src="docs/picture.png" alt="">', "docs/picture.png", "no such file"],
  ] as const;
  write("README.md", `# Title\n\n${dead.map(([markdown]) => markdown).join("\n\n")}\n`);
  const lines = dead.map(([, link, why]) => `README.md: the link ${link} is dead: ${why}\n`);
  expect(check(root)).toEqual({ status: 1, stderr: lines.join("") });
  // Without --check, the program also fails, before it installs or builds anything.
  const { status } = spawnSync(process.execPath, [PROGRAM], { cwd: root });
  expect({ status, built: existsSync(join(root, "dist")) }).toEqual({ status: 1, built: false });
});

describe("after the build,", () => {
  const browser = testBrowser();
  const out = join(folder, "site");
  const server = fastify();
  let url: string;
  beforeAll(async () => {
    await promisify(execFile)(process.execPath, [PROGRAM, "--out", out], { cwd: ROOT });
    await server.register(staticFiles, { root: out });
    url = await server.listen({ host: "127.0.0.1", port: 0 });
  }, BUILD_WITHIN_MS);
  afterAll(() => server.close());

  test("the site's home page links to a guide for each kind of reader, and the search finds words in all guides", async () => {
    const { page, context, refusals } = await browser.visit("about:blank");
    const hosts = new Set<string>();
    context.on("request", (request) => hosts.add(new URL(request.url()).origin));
    for (const [card, title] of [
      ["Connect a chat tool", "Writing a bridge"],
      ["Write a game", "A game in TypeScript"],
      ["Run the service", "Operating the service"],
      ["Change the code", "Contributing"],
    ] as const) {
      await page.goto(url);
      await page.locator(".VPFeature", { hasText: card }).click();
      await page.getByRole("heading", { name: title, level: 1 }).waitFor();
    }
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("searchbox").fill("REDIS_WAIT_REPLICAS");
    await page.getByRole("option").filter({ hasText: "What replication may lose" }).first().click();
    await page.getByRole("heading", { name: "What replication may lose" }).waitFor();
    expect(new URL(page.url()).hash).toBe("#what-replication-may-lose");
    expect([[...hosts], refusals]).toEqual([[url], []]);
  });

  test(`the first result of at least ${FOUND_FIRST} of ${SEARCHES.length} searches in newcomers' words is an answer`, async () => {
    const { page } = await browser.visit(url);
    await page.getByRole("button", { name: "Search" }).click();
    const results = page.locator(".results .result");
    const missed: string[] = [];
    for (const [query, answers] of SEARCHES) {
      await page.getByRole("searchbox").fill(query);
      // VitePress searches when the user stops typing.
      const found = await until(`results for "${query}"`, async () => {
        const paths = await results.evaluateAll((links: readonly Pathed[]) =>
          links.map(({ pathname }) => pathname),
        );
        return paths.length > 0 && paths;
      });
      const rank = found.findIndex((path) => answers.map(pathInSite).includes(path)) + 1;
      if (rank !== 1)
        missed.push(`${query}: first ${found[0]}, an answer ${rank === 0 ? "not found" : `is ${rank}.`}`);
      await page.getByRole("searchbox").fill("");
      await until("no results", async () => (await results.count()) === 0);
    }
    expect(missed.length <= SEARCHES.length - FOUND_FIRST ? [] : missed).toEqual([]);
  });

  test("the site's links to pages, headings, pictures, source files and folders work", async () => {
    const { page, context } = await browser.visit(`${url}/overview.html`);
    const missing: string[] = [];
    context.on("response", (answer) => {
      // The browser requests this icon by itself when it shows a plain-text page.
      if (answer.status() >= 400 && !answer.url().endsWith("/favicon.ico")) missing.push(answer.url());
    });
    await page.getByRole("img", { name: /^The dashboard/ }).waitFor();
    const isLoaded =
      "[...document.querySelectorAll('main img')].every(({ naturalWidth }) => naturalWidth > 0)";
    await until("the pictures are loaded", () => page.evaluate<boolean>(isLoaded));
    await page.getByRole("link", { name: "proto/chatbridge/v1", exact: true }).click();
    await page.getByRole("link", { name: "game.proto" }).click();
    await page.getByText("service GameService {").waitFor();
    await page.goto(`${url}/docs/decisions/index.html`);
    await page.getByRole("main").getByRole("link", { name: "Libraries" }).click();
    await page.getByRole("heading", { name: "17. Libraries" }).waitFor();
    expect(missing).toEqual([]);
  });

  test("a reader sees the first code block of each guide without scrolling", async () => {
    const { page } = await browser.visit("about:blank");
    const below: string[] = [];
    for (const path of CODE_FIRST) {
      await page.goto(url + pathInSite(path));
      const box = await page.locator(".vp-doc div[class*=language-]").first().boundingBox();
      // Three lines of code must be visible.
      if (box === null || box.y + 100 > DESKTOP.height) below.push(`${path}: at ${box?.y ?? "no"} px`);
    }
    expect(below).toEqual([]);
  });

  test("the site's pages are accessible, fit a phone, and follow the system's theme", async () => {
    for (const path of ["index.html", "overview.html", "docs/bridge-guide.html"]) {
      const { page } = await browser.visit(`${url}/${path}`);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
      await expectUsable(page, `site ${path}`, [PHONE, DESKTOP]);
    }
  });
});
