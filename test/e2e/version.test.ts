import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILD } from "../harness/build";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { poll, post, send } from "../harness/bridge";
import { testFolder } from "../harness/folder";
import { readMetrics } from "../harness/metrics";
import { probe } from "../harness/probe";
import { startEdge } from "../harness/processes";

const ROOT = join(__dirname, "../..");
const service = sharedService();
const workspace = freshWorkspace(service);
const folder = testFolder();
const SERVERS = ["core", "edge", "demo/game", "demo/chat"];

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with Node. The program has no settings, except for `environment`. */
function run(args: readonly string[], { cwd = ROOT, environment = {} } = {}): Promise<Outcome> {
  const env = { PATH: process.env["PATH"], ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, [...args], { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

test.each([...SERVERS, "deploy/local", "cli", "deploy/compose"])(
  "%s --version prints the version and the commit, even without any settings",
  async (name) => {
    const { code, stdout } = await run([`dist/${name}/main.js`, "--version"]);
    expect([code, stdout]).toEqual([0, `chat-bridge ${BUILD.version} (commit ${BUILD.commit})\n`]);
  },
);

test("chat-bridge-check --version prints the version of the kit's package", async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "kit/package.json"), "utf8")) as typeof BUILD;
  const { code, stdout } = await run(["dist/kit/check/main.js", "--version"]);
  expect([code, stdout]).toEqual([0, `chat-bridge-check ${version} (package chat-bridge-kit)\n`]);
});

test.each(SERVERS)("%s --help names the page with the settings, even without any settings", async (name) => {
  const { code, stdout } = await run([`dist/${name}/main.js`, "--help"]);
  expect(code).toBe(0);
  const [, page = "", section = ""] = /see (\S+\.md)#([\w-]+)\.\n$/.exec(stdout) ?? [];
  const headings = readFileSync(join(ROOT, page), "utf8").match(/^#+ .+$/gm) ?? [];
  const anchors = headings.map((line) =>
    line
      .replaceAll(/[^\w\s-]/g, "")
      .trim()
      .toLowerCase(),
  );
  expect(anchors.map((text) => text.replaceAll(" ", "-"))).toContain(section);
});

test("a server that gets an unknown argument exits with code 64", async () => {
  const { code, stderr } = await run(["dist/core/main.js", "--port=1"]);
  expect([code, stderr]).toEqual([64, expect.stringMatching(/--port.*\n.*--help/s)]);
});

test("the edge logs its version and commit when it is ready", async () => {
  const edge = await startEdge(service.core.port);
  expect(await edge.stop()).toBe(0);
  expect(edge.log).toContainEqual(expect.objectContaining({ msg: "edge is ready", ...BUILD }));
});

test("core and the edge report the version and the commit on /ready, but not on /live", async () => {
  for (const each of [service.core, service.edge]) {
    expect(await probe(each, "/ready")).toEqual([200, { ready: true, ...BUILD }]);
    expect(await probe(each, "/live")).toEqual([200, { live: true }]);
  }
});

test("core and the edge have a metric whose labels are the version, the commit and the release of Node", async () => {
  const { version, commit } = BUILD;
  const labels = `version="${version}",commit="${commit}",node="${process.versions.node}"`;
  for (const each of [service.core, service.edge]) {
    const metric = (await readMetrics(each)).get("chatbridge_build_info");
    expect(metric).toMatchObject({ type: "gauge", values: new Map([[labels, 1]]) });
  }
});

test("the listener for bridges reveals neither the version nor the commit", async () => {
  const answers = await Promise.all([
    send(service.url, "/"),
    send(service.url, "/ready"),
    send(service.url, "/metrics"),
    post(service.url, workspace, { type: "message", channel: "c", user: { id: "u", name: "U" }, text: "t" }),
    post(service.url, workspace, { type: "unknown" }),
    poll(service.url, workspace),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 202, 400, 200]);
  for (const { headers, body } of answers) {
    const all = `${JSON.stringify(headers)}${body.toString()}`;
    expect(all).not.toContain(BUILD.version);
    expect(all).not.toContain(BUILD.commit);
  }
});

describe("builds without a git repository", () => {
  const SCRIPT = "scripts/write-build.mjs";
  const COMMIT = "0123456789abcdef0123456789abcdef01234567";

  beforeAll(() => {
    mkdirSync(join(folder, "dist"));
    cpSync(join(ROOT, SCRIPT), join(folder, SCRIPT));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ version: "1.2.3" }));
  });

  const build = (environment: Record<string, string>) => run([SCRIPT], { cwd: folder, environment });
  const written = () => JSON.parse(readFileSync(join(folder, "dist/build.json"), "utf8")) as object;

  test("a build records the commit that the variable COMMIT contains, or `unknown` if COMMIT is `unknown`", async () => {
    expect((await build({ COMMIT: "unknown", VERSION: "" })).code).toBe(0);
    expect(written()).toEqual({ version: "1.2.3", commit: "unknown" });
    expect((await build({ COMMIT, VERSION: "1.2.3" })).code).toBe(0);
    expect(written()).toEqual({ version: "1.2.3", commit: COMMIT.slice(0, 12) });
  });

  test("a build fails if VERSION is not the version in package.json, or if COMMIT is not a commit id", async () => {
    const other = await build({ VERSION: "1.2.4" });
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("set VERSION to 1.2.3")]);
    const branch = await build({ COMMIT: "main" });
    expect([branch.code, branch.stderr]).toEqual([1, expect.stringContaining("COMMIT is not a commit id")]);
  });
});
