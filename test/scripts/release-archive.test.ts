import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join, relative } from "node:path";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";
import { SECRETS_KEY, TOKENS } from "../harness/processes";
import { startProgram } from "../harness/program";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { findShellcheck } from "../programs/apt";
import { BUILD } from "../harness/build";
import { until } from "../harness/wait";

const MEGABYTE = 1_000_000;
const MOST = { files: 3_000, bytes: 32 * MEGABYTE, packed: 10 * MEGABYTE };

const NAME = `chat-bridge-${BUILD.version}`;
const VERSION = `chat-bridge ${BUILD.version} (commit ${BUILD.commit})\n`;
const AUTHOR = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
const SCRIPT = join(ROOT, "scripts/release-archive.mjs");
const COMMIT_SECONDS = execFileSync("git", ["log", "-1", "--format=%ct"], {
  cwd: ROOT,
  encoding: "utf8",
}).trim();

const folder = testFolder();
const unpacked = join(folder, "unpacked", NAME);
const launcher = join(unpacked, "bin/chat-bridge");
/** A folder with Node, and a folder with the other programs that the launcher needs. */
const node = join(folder, "node");
const tools = join(folder, "tools");
const PATH = [node, tools].join(delimiter);

/** Packs a built folder. Returns the lines that the script prints. */
function pack(cwd: string, to: string, environment: NodeJS.ProcessEnv = {}): string {
  const run = `umask ${environment["UMASK"] ?? "022"} && exec "$@"`;
  const args = ["-c", run, "sh", process.execPath, SCRIPT, "--built", "--to", to];
  return execFileSync("sh", args, { cwd, encoding: "utf8", env: { ...process.env, ...environment } });
}

const filesBelow = (path: string) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

let printed: string;
let redis: TestRedis;
beforeAll(async () => {
  printed = pack(ROOT, join(folder, "first"));
  mkdirSync(join(folder, "unpacked"));
  execFileSync("tar", ["-xzf", join(folder, "first", `${NAME}.tar.gz`), "-C", join(folder, "unpacked")]);
  mkdirSync(node);
  symlinkSync(process.execPath, join(node, "node"));
  mkdirSync(tools);
  for (const name of ["dirname", "readlink"]) {
    symlinkSync(execFileSync("which", [name], { encoding: "utf8" }).trim(), join(tools, name));
  }
  redis = await startTestRedis();
});
afterAll(() => redis.close());

test("packing in another folder, with another user mask, time zone, language and time, gives an archive with the same bytes", () => {
  const other = join(folder, "another folder with a longer name");
  cpSync(unpacked, other, { recursive: true });
  for (const path of filesBelow(other)) utimesSync(path, 1, 1);
  writeFileSync(join(other, "node_modules/.package-lock.json"), "{}");
  writeFileSync(join(other, "dist/core/main.js.map"), "{}");
  // The modes that files have in a clone that was made with the user mask 077.
  execFileSync("chmod", ["-R", "go-rwx", other]);
  execFileSync("git", ["init", "--quiet"], { cwd: other });
  execFileSync("git", ["add", "package.json", "LICENSE", "CHANGELOG.md", "bin", "cli", "deploy", "docs"], {
    cwd: other,
  });
  execFileSync("git", [...AUTHOR, "commit", "-qm", "a"], { cwd: other });
  pack(other, join(folder, "second"), {
    UMASK: "077",
    TZ: "Asia/Tokyo",
    LC_ALL: "C.UTF-8",
    SOURCE_DATE_EPOCH: COMMIT_SECONDS,
  });
  const bytes = (build: string) => readFileSync(join(folder, build, `${NAME}.tar.gz`));
  expect(bytes("second").equals(bytes("first"))).toBe(true);
});

test("the dashboard of a reproducible build contains the time of the commit as its build time", () => {
  const code = `
    const { default: config } = await import("./dashboard/vite.config.mts");
    const { transformIndexHtml } = config.plugins.find(({ name }) => name === "built-at");
    console.log(transformIndexHtml()[0].attrs.content);
  `;
  const args = ["--import", "tsx", "--input-type=module", "-e", code];
  const env = { ...process.env, SOURCE_DATE_EPOCH: "1700000000" };
  const built = execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", env });
  expect(built).toBe("1700000000000\n");
});

test("SHA256SUMS contains the checksum of the archive, which the script also prints", () => {
  const check = spawnSync("sh", ["-c", "sha256sum --check SHA256SUMS"], {
    cwd: join(folder, "first"),
    encoding: "utf8",
  });
  expect([check.status, check.stdout]).toEqual([0, `${NAME}.tar.gz: OK\n`]);
  const sum = createHash("sha256")
    .update(readFileSync(join(folder, "first", `${NAME}.tar.gz`)))
    .digest("hex");
  expect(printed).toContain(sum);
});

test("all entries of the archive belong to root, have the time of the commit, and are readable by everyone", () => {
  const lines = execFileSync(
    "tar",
    ["-tvzf", join(folder, "first", `${NAME}.tar.gz`), "--utc", "--full-time"],
    {
      encoding: "utf8",
      maxBuffer: MEGABYTE,
    },
  )
    .trimEnd()
    .split("\n");
  const time = new Date(Number(COMMIT_SECONDS) * 1000).toISOString().slice(0, 19).replace("T", " ");
  const attributes = lines.map((line) => /^(\S+) (\S+) +\d+ (\S+ \S+) /.exec(line)?.slice(1) ?? [line]);
  const found = new Set(attributes.map((each) => each.join(" ")));
  expect(found).toEqual(
    new Set(["drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"].map((mode) => `${mode} 0/0 ${time}`)),
  );
});

test("no file of the archive contains a path of the folder in which it was built", () => {
  const places = [
    "node_modules",
    "dist",
    "core",
    "edge",
    "dashboard",
    "cli",
    "demo",
    "kit",
    "contract",
    "runtime",
  ];
  const paths = places.map((place) => Buffer.from(`${ROOT}/${place}/`));
  const faulty = filesBelow(unpacked).filter((file) => {
    const content = readFileSync(file);
    return paths.some((path) => content.includes(path));
  });
  expect(faulty).toEqual([]);
});

/** Creates a repository with two files, and runs the script there. */
function packOther(name: string, builtVersion: string) {
  const other = join(folder, name);
  mkdirSync(join(other, "dist"), { recursive: true });
  writeFileSync(join(other, "package.json"), '{ "version": "1.0.0" }');
  writeFileSync(join(other, "dist/build.json"), JSON.stringify({ version: builtVersion }));
  execFileSync("git", ["init", "--quiet"], { cwd: other });
  execFileSync("git", ["add", "package.json"], { cwd: other });
  execFileSync("git", [...AUTHOR, "commit", "-qm", "a"], { cwd: other });
  const args = [SCRIPT, "--built", "--to", join(folder, "other")];
  return spawnSync(process.execPath, args, { cwd: other, encoding: "utf8" });
}

test("the script fails if the repository lacks a file that the script must pack", () => {
  const { status, stderr } = packOther("incomplete", "1.0.0");
  expect([status, stderr]).toEqual([1, expect.stringContaining("pathspec 'LICENSE' did not match")]);
});

test("the script fails if the built programs have a different version than package.json", () => {
  const { status, stderr } = packOther("stale", "0.9.0");
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining("dist/ has version 0.9.0, but package.json 1.0.0: run npm run build"),
  ]);
});

test("the archive does not exceed its limits for size and for the number of files", () => {
  const files = filesBelow(unpacked);
  const bytes = files.reduce((sum, path) => sum + readFileSync(path).length, 0);
  expect(files.length).toBeLessThan(MOST.files);
  expect(bytes).toBeLessThan(MOST.bytes);
  expect(readFileSync(join(folder, "first", `${NAME}.tar.gz`)).length).toBeLessThan(MOST.packed);
});

test("the archive contains the files that a machine without containers needs", () => {
  const files = filesBelow(unpacked).map((path) => relative(unpacked, path));
  const wanted = ["bin/chat-bridge", "package.json", "LICENSE", "CHANGELOG.md", "deploy/backup/backup.sh"];
  const units = ["redis", "core", "edge", "backup"].map(
    (name) => `deploy/systemd/chat-bridge-${name}.service`,
  );
  const proxies = ["Caddyfile", "nginx.conf"].map((name) => `deploy/proxy/${name}`);
  const pages = ["one-machine", "install", "upgrade", "backup", "settings"].map((name) => `docs/${name}.md`);
  expect(files).toEqual(expect.arrayContaining([...wanted, ...units, ...proxies, ...pages]));
});

test.each([[[]], [["core"]], [["edge"]]])(
  "with only Node installed, the launcher of the archive prints its version: chat-bridge %j",
  (args) => {
    const options = { encoding: "utf8", env: { PATH }, cwd: "/" } as const;
    const { status, stdout, stderr } = spawnSync(launcher, [...args, "--version"], options);
    expect([status, stdout, stderr]).toEqual([0, VERSION, ""]);
  },
);

test("a command reads the machine's settings file, but settings in the environment take precedence", () => {
  const settings = join(folder, "cli.env");
  writeFileSync(settings, "CORE_ADDRESS=127.0.0.1:1\nCORE_TOKEN=a-token-of-the-file\n");
  const run = (environment: Record<string, string>) => {
    const options = { encoding: "utf8", env: { PATH, ...environment }, cwd: "/" } as const;
    return spawnSync(launcher, ["workspace", "list"], options).stderr;
  };
  expect(run({ CLI_ENV_FILE: settings })).toContain("127.0.0.1:1 ");
  expect(run({ CLI_ENV_FILE: settings, CORE_ADDRESS: "127.0.0.1:2" })).toContain("127.0.0.1:2 ");
  expect(run({ CLI_ENV_FILE: join(folder, "missing.env") })).toContain("CORE_TOKEN");
});

test("with only Node installed, core and the edge run from the unpacked archive, even through a link to the launcher", async () => {
  const link = join(folder, "link");
  symlinkSync(launcher, link);
  const start = (name: string, environment: Record<string, string>) =>
    startProgram([link, name], {
      cwd: "/",
      environment: { PATH, HEALTH_LISTEN: "127.0.0.1:0", ...environment },
    });
  const core = start("core", {
    REDIS_URL: redis.url,
    CORE_LISTEN: "127.0.0.1:0",
    CORE_TOKENS: Object.entries(TOKENS)
      .map((each) => each.join("="))
      .join(","),
    SECRETS_KEY,
  });
  const port = await until(
    "core to be ready",
    () => /"port":(\d+).*"core is ready"/.exec(core.output())?.[1],
  );
  const edge = start("edge", {
    CORE_ADDRESS: `127.0.0.1:${port}`,
    CORE_TOKEN: TOKENS.edge,
    EDGE_LISTEN: "127.0.0.1:0",
    DASHBOARD_LISTEN: "127.0.0.1:0",
  });
  await until("the edge to be ready", () => edge.output().includes("edge is ready"));
  expect([await edge.stop(), await core.stop()]).toEqual([0, 0]);
});

test("ShellCheck finds no fault in the launcher", async () => {
  const { status, stdout } = spawnSync(await findShellcheck(), [launcher], { encoding: "utf8" });
  expect([status, stdout]).toEqual([0, ""]);
});

// The launcher is a shell script, which cannot read the range in package.json.
test("package.json names the releases of Node that the launcher accepts", () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { engines: object };
  expect(engines).toEqual({ node: "^20.19.0 || >=22.12.0" });
});

/** Creates a folder with a program `node` that prints a version, or its arguments. */
function fakeNode(version: string): string {
  const path = join(folder, version);
  mkdirSync(path, { recursive: true });
  const script = `#!/bin/sh\nif [ "$*" = --version ]; then echo ${version}; else echo "${version} runs $*"; fi\n`;
  writeFileSync(join(path, "node"), script);
  chmodSync(join(path, "node"), 0o755);
  return path;
}

/** Runs the launcher with several programs `node` on the PATH. */
function launch(versions: readonly string[], ...args: readonly string[]) {
  const env = { PATH: [...versions.map(fakeNode), tools].join(delimiter) };
  const { status, stdout, stderr } = spawnSync(launcher, args, { encoding: "utf8", env });
  return { status, stdout, stderr };
}

test.each(["v20.19.0", "v20.20.2", "v22.12.0", "v23.0.0", "v24.1.0", "v30.0.1"])(
  "the launcher accepts Node %s, and skips an older one that is earlier on the PATH",
  (version) => {
    const ran = launch(["v18.20.4", version], "core", "--help");
    const command = `--max-semi-space-size=64 ${unpacked}/dist/core/main.js --help`;
    expect(ran).toEqual({ status: 0, stdout: `${version} runs ${command}\n`, stderr: "" });
  },
);

test.each(["v18.20.4", "v20.18.9", "v21.7.0", "v22.11.9", "v8.0.0"])(
  "the launcher rejects Node %s, and says what to install",
  (version) => {
    const { status, stdout, stderr } = launch([version], "workspace", "list");
    expect([status, stdout]).toEqual([69, ""]);
    expect(stderr).toBe(
      `chat-bridge: needs Node 20.19, 22.12 or later, but finds ${folder}/${version}/node (${version}) on the PATH; install Node 24\n`,
    );
  },
);

test("the launcher says so if there is no Node on the PATH", () => {
  expect(launch([], "--version")).toEqual({
    status: 69,
    stdout: "",
    stderr: "chat-bridge: needs Node 20.19, 22.12 or later, but finds none on the PATH; install Node 24\n",
  });
});
