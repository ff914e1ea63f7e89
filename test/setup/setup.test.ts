import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { parseEnv } from "node:util";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";
import { HOSTS, setUp } from "../harness/setup";
import { findSystemd } from "../programs/apt";

// Runs `chat-bridge setup` with a folder in place of the machine's root. systemd-sysusers and systemd-tmpfiles create the users
// and set the owners in that folder if the tests run as root.

const EXIT_USAGE = 64;
const EXIT_SETTINGS = 78;
const folder = testFolder();
const isRoot = process.getuid?.() === 0;

beforeAll(() => findSystemd(), 300_000);

/** Returns a new folder for a machine. */
const machine = (): string => mkdtempSync(join(folder, "machine-"));

/** Returns the paths of all files below a folder. */
function filesIn(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `/${relative(root, join(entry.parentPath, entry.name))}`);
}

const read = (root: string, path: string): string => readFileSync(join(root, path), "utf8");
const modeOf = (root: string, path: string): string => (statSync(join(root, path)).mode & 0o7777).toString(8);

/**
 * Returns the text of each file of the service. Omits the system's user files, which systemd-sysusers may write again.
 */
function contentsOf(root: string): Readonly<Record<string, string>> {
  const own = filesIn(root).filter((path) => /chat-bridge/.test(path));
  return Object.fromEntries(own.map((path) => [path, read(root, path)]));
}

/** Returns all secrets of an installation. */
function secretsOf(root: string): readonly string[] {
  const [, key = ""] = /^SECRETS_KEY=(.+)$/m.exec(read(root, "etc/chat-bridge/core.env")) ?? [];
  const [, password = ""] =
    /^REDIS_URL=redis:\/\/core:(.+)@/m.exec(read(root, "etc/chat-bridge/core.env")) ?? [];
  const files = ["edge-token", "operator-token", "game-trivia-token", "redis-admin-password"];
  return [key, password, ...files.map((name) => read(root, `etc/chat-bridge/${name}`).trim())];
}

test("setup writes secrets that differ from each other and from those of another machine, and prints none of them", () => {
  const [one, other] = [machine(), machine()];
  const runs = [one, other].map((root) => setUp(root, [...HOSTS, "--games", "trivia", "--yes"]));
  expect(runs).toMatchObject([{ status: 0 }, { status: 0 }]);
  const secrets = [...secretsOf(one), ...secretsOf(other)];
  expect(new Set(secrets).size).toBe(12);
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThanOrEqual(32);
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.toContain(secret);
  }
});

test("no file with a secret is readable by all users, and each process can read only its own secrets", () => {
  const root = machine();
  expect(setUp(root, [...HOSTS, "--games", "trivia", "--yes"])).toMatchObject({ status: 0 });
  const secrets = secretsOf(root);
  const withSecrets = filesIn(root).filter((path) =>
    secrets.some((secret) => read(root, path).includes(secret)),
  );
  expect(withSecrets.toSorted()).toEqual(
    [
      "core-tokens",
      "core.env",
      "edge-token",
      "game-trivia-token",
      "operator-token",
      "redis-admin-password",
    ].map((name) => `/etc/chat-bridge/${name}`),
  );
  const isOpen = (path: string): boolean => (statSync(join(root, path)).mode & 0o007) !== 0;
  expect(withSecrets.filter(isOpen)).toEqual([]);
  expect(
    ["/etc/chat-bridge", "/var/lib/chat-bridge-redis", "/var/lib/chat-bridge-redis/users.acl"].filter(isOpen),
  ).toEqual([]);
  if (!isRoot) return;
  const users = `root:x:0:\n${read(root, "etc/passwd")}\n${read(root, "etc/group")}`;
  const ids = new Map(
    [...users.matchAll(/^([\w-]+):[^:]*:(\d+):/gm)].map(([, name, id]) => [Number(id), name]),
  );
  const owner = (path: string): string => {
    const { uid, gid } = statSync(join(root, path));
    return `${ids.get(uid) ?? uid}:${ids.get(gid) ?? gid} ${modeOf(root, path)}`;
  };
  expect(
    Object.fromEntries(
      [
        ...withSecrets,
        "/etc/chat-bridge",
        "/var/lib/chat-bridge-redis/users.acl",
        "/var/lib/chat-bridge/backups",
      ].map((path) => [path, owner(path)]),
    ),
  ).toEqual({
    "/etc/chat-bridge": "root:chat-bridge 750",
    "/etc/chat-bridge/core.env": "root:root 600",
    "/etc/chat-bridge/core-tokens": "root:chat-bridge-core 640",
    "/etc/chat-bridge/edge-token": "root:chat-bridge-edge 640",
    "/etc/chat-bridge/operator-token": "root:root 600",
    "/etc/chat-bridge/game-trivia-token": "root:root 600",
    "/etc/chat-bridge/redis-admin-password": "root:redis 640",
    "/var/lib/chat-bridge-redis/users.acl": "redis:redis 600",
    "/var/lib/chat-bridge/backups": "redis:redis 700",
  });
});

test("the settings files contain only settings that exist, and core's tokens include the tokens of its callers", () => {
  const root = machine();
  setUp(root, [...HOSTS, "--games", "trivia", "--yes"]);
  const page =
    readFileSync(join(ROOT, "docs/settings.md"), "utf8") + readFileSync(join(ROOT, "docs/cli.md"), "utf8");
  for (const name of ["core.env", "edge.env", "cli.env"]) {
    const names = Object.keys(parseEnv(read(root, `etc/chat-bridge/${name}`)));
    expect(names.filter((each) => !page.includes(`\`${each}\``))).toEqual([]);
  }
  expect(read(root, "etc/chat-bridge/core.env")).toMatch(/^SECRETS_KEY=[0-9a-f]{64}$/m);
  const tokens = read(root, "etc/chat-bridge/core-tokens").split("\n");
  for (const [label, name] of [
    ["edge", "edge"],
    ["operator", "operator"],
    ["game:trivia", "game-trivia"],
  ]) {
    expect(tokens).toContain(`${label}=${read(root, `etc/chat-bridge/${name}-token`).trim()}`);
  }
});

test("a second run changes nothing", () => {
  const root = machine();
  setUp(root, [...HOSTS, "--games", "trivia", "--yes"]);
  const before = contentsOf(root);
  const { status, stdout } = setUp(root, ["--yes"]);
  expect(status).toBe(0);
  expect(stdout).toContain("Nothing has changed.");
  expect(contentsOf(root)).toEqual(before);
});

test("a later run adds a new game and a missing setting, and keeps the operator's changes", () => {
  const root = machine();
  setUp(root, [...HOSTS, "--games", "trivia", "--yes"]);
  appendFileSync(join(root, "etc/chat-bridge/core-tokens"), "operator:alice@w1+w2=0123456789abcdef0123\n");
  const edge = read(root, "etc/chat-bridge/edge.env").replace(
    "https://hooks.example.com",
    "https://other.example.com",
  );
  writeFileSync(join(root, "etc/chat-bridge/edge.env"), edge.replace("TRUST_PROXY=127.0.0.1\n", ""));
  const secrets = secretsOf(root);
  const { stdout } = setUp(root, ["--games", "chess", "--yes"]);
  expect(stdout).toMatch(/^extend +\/etc\/chat-bridge\/core-tokens: game:chess$/m);
  expect(stdout).toMatch(/^extend +\/etc\/chat-bridge\/edge.env: TRUST_PROXY$/m);
  expect(stdout).toContain("systemctl reload chat-bridge-core");
  expect(secretsOf(root)).toEqual(secrets);
  const tokens = read(root, "etc/chat-bridge/core-tokens");
  const labels = [...tokens.matchAll(/^([^#=]+)=/gm)].map(([, label]) => label);
  expect(labels).toEqual(["edge", "operator", "game:trivia", "operator:alice@w1+w2", "game:chess"]);
  expect(tokens).toContain(`game:chess=${read(root, "etc/chat-bridge/game-chess-token")}`);
  expect(read(root, "etc/chat-bridge/edge.env")).toBe(
    `${edge.replace("TRUST_PROXY=127.0.0.1\n", "")}TRUST_PROXY=127.0.0.1\n`,
  );
});

test("if a token's file or the file of Redis's users is lost, a later run restores it from the other files", () => {
  const root = machine();
  setUp(root, [...HOSTS, "--yes"]);
  const lost = [
    "etc/chat-bridge/edge-token",
    "etc/chat-bridge/core-tokens",
    "var/lib/chat-bridge-redis/users.acl",
  ];
  const before = lost.map((path) => read(root, path));
  for (const path of lost) {
    rmSync(join(root, path));
    expect(setUp(root, ["--yes"])).toMatchObject({ status: 0 });
  }
  expect(lost.map((path) => read(root, path))).toEqual(before);
});

test("setup shows the differences of a changed unit, and replaces the unit only with --replace-units", () => {
  const root = machine();
  setUp(root, [...HOSTS, "--yes"]);
  const path = "etc/systemd/system/chat-bridge-core.service";
  const released = read(root, path);
  writeFileSync(join(root, path), released.replace("MemoryMax=1G", "MemoryMax=3G"));
  const shown = setUp(root, ["--yes"]);
  expect(shown.stdout).toContain("-MemoryMax=3G");
  expect(shown.stdout).toContain("+MemoryMax=1G");
  expect(read(root, path)).toContain("MemoryMax=3G");
  expect(setUp(root, ["--yes", "--replace-units"]).stdout).toContain("systemctl restart chat-bridge-core");
  expect(read(root, path)).toBe(released);
});

test("setup stops with a message if Redis's folder contains a link to a device", () => {
  const root = machine();
  expect(setUp(root, [...HOSTS, "--yes"])).toMatchObject({ status: 0 });
  const users = join(root, "var/lib/chat-bridge-redis/users.acl");
  rmSync(users);
  symlinkSync("/dev/zero", users);
  const { status, stderr } = setUp(root, ["--yes"]);
  expect(status).not.toBe(0);
  expect(stderr).toContain("users.acl is not a file: remove it, and run setup again");
});

test("with --dry-run, nothing is written", () => {
  const root = machine();
  const { status, stdout } = setUp(root, [...HOSTS, "--yes", "--dry-run"]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^create +\/etc\/chat-bridge\/core.env$/m);
  expect(filesIn(root)).toEqual([]);
});

test("the answers decide the settings, the units and the configuration of the proxy", () => {
  const root = machine();
  const smtp = join(folder, "smtp-url");
  writeFileSync(smtp, "smtps://user:p%40ss@mail.example.com\n");
  const args = ["--proxy", "nginx", "--redis-memory", "2gb", "--redis-port", "6400", "--smtp-url-file", smtp];
  const { status, stdout } = setUp(root, [...HOSTS, ...args, "--yes"]);
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringContaining("worker_rlimit_nofile 16384"),
  });
  expect(read(root, "etc/chat-bridge/core.env")).toMatch(/^REDIS_URL=redis:\/\/core:\S+@127\.0\.0\.1:6400$/m);
  expect(read(root, "etc/chat-bridge/core.env")).toContain(
    "SMTP_URL='smtps://user:p%40ss@mail.example.com'\nMAIL_FROM='bridges@example.com'\n",
  );
  expect(read(root, "etc/chat-bridge/redis.conf")).toMatch(/^port 6400$[^]*^maxmemory 2048mb$/m);
  expect(read(root, "etc/systemd/system/chat-bridge-redis.service")).toContain("MemoryMax=4352M");
  expect(read(root, "etc/systemd/system/chat-bridge-backup.service")).toContain(
    "REDIS_ADDRESS=127.0.0.1:6400",
  );
  expect(read(root, "etc/chat-bridge/nginx.conf")).not.toMatch(
    /hooks\.example\b(?!\.com)|dashboard\.example/,
  );
  expect(existsSync(join(root, "etc/chat-bridge/Caddyfile"))).toBe(false);
});

test.each<[string, readonly string[], readonly string[]]>([
  ["a missing host name", [], ["--hooks is missing", "--dashboard is missing"]],
  [
    "an address in place of a host name",
    ["--hooks", "https://hooks.example.com/x"],
    ["--hooks is not a host name"],
  ],
  [
    "the same host name twice",
    ["--hooks", "a.example.com", "--dashboard", "a.example.com"],
    ["--dashboard must differ"],
  ],
  ["an unknown proxy", [...HOSTS, "--proxy", "apache"], ["--proxy is not one of"]],
  ["a path that is not absolute", [...HOSTS, "--certificates", "a.pem,b.pem"], ["--certificates is neither"]],
  ["too little memory", [...HOSTS, "--redis-memory", "10mb"], ["--redis-memory is not an amount of memory"]],
  ["a name with a separator", [...HOSTS, "--games", "a b"], ["--games has a name with characters"]],
])("with %s, setup lists the faults and writes nothing", (_what, args, faults) => {
  const root = machine();
  const { status, stderr } = setUp(root, [...args, "--yes"]);
  expect(status).toBe(EXIT_SETTINGS);
  for (const fault of faults) expect(stderr).toContain(`- ${fault}`);
  expect(filesIn(root)).toEqual([]);
});

test("a later run with a different host name or size fails, because only the operator changes existing settings", () => {
  const root = machine();
  setUp(root, [...HOSTS, "--redis-memory", "512mb", "--yes"]);
  const before = contentsOf(root);
  const { status, stderr } = setUp(root, ["--hooks", "new.example.com", "--redis-memory", "1gb", "--yes"]);
  expect(status).toBe(EXIT_SETTINGS);
  expect(stderr).toContain("--hooks differs from /etc/chat-bridge/cli.env");
  expect(stderr).toContain("--redis-memory differs from /etc/chat-bridge/redis.conf");
  expect(contentsOf(root)).toEqual(before);
});

test("without a terminal and without --yes, setup says that it cannot ask questions", () => {
  const { status, stderr } = setUp(machine(), HOSTS);
  expect([status, stderr]).toEqual([EXIT_USAGE, expect.stringContaining("--yes")]);
});

test("the release contains a template for each file that the units name", () => {
  const root = machine();
  setUp(root, [...HOSTS, "--yes"]);
  const units = filesIn(root).filter((path) => path.startsWith("/etc/systemd/system/"));
  const templates = readdirSync(join(ROOT, "deploy/systemd")).filter((name) =>
    /\.(service|timer)$/.test(name),
  );
  expect(units.map((path) => basename(path)).toSorted()).toEqual(templates.toSorted());
});
