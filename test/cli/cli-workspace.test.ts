import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { EXIT } from "../../cli/exit-code";
import { runCli as runInProcess } from "../../cli/run-cli";
import { createTerminal } from "../../cli/terminal";
import { poll } from "../harness/bridge";
import { runCli, type CliRun } from "../harness/cli";
import { TOKENS } from "../harness/processes";
import { until } from "../harness/wait";
import { createWorkspaceApi, type WorkspaceApi } from "../harness/workspace-api";
import { sharedService } from "../harness/shared-service";

jest.setTimeout(120_000);

const service = sharedService();
let api: WorkspaceApi;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "cli-"));
  api = createWorkspaceApi(service.clients.workspaces);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
});

const UNKNOWN = "11111111-2222-4333-8444-555555555555";
const SECRET_FORM = /[A-Za-z0-9_-]{43}/;

const workspace = (...args: readonly string[]): Promise<CliRun> =>
  runCli(["workspace", ...args], { corePort: service.core.port });

test("create makes a workspace, and shows its secret where it is asked to", async () => {
  const run = await workspace("create", "Ann's", "--owner", "ann@a.example", "--show-secret", "--json");
  expect([run.code, run.stderr]).toEqual([EXIT.DONE, ""]);
  const { workspace: made, signingSecret } = run.json as { workspace: { id: string }; signingSecret: string };
  expect(made).toMatchObject({ name: "Ann's", ownerEmail: "ann@a.example", mode: "poll", connected: true });
  expect((await poll(service.url, { id: made.id, secret: signingSecret })).status).toBe(200);
});

test("create, rotate and connect write the secret to a new file of their caller's alone, and then show it nowhere", async () => {
  const files = ["one", "two", "three"].map((name) => join(folder, name)) as [string, string, string];
  const created = await workspace("create", "Ben's", "--secret-file", files[0], "--json");
  const { id } = (created.json as { workspace: { id: string } }).workspace;
  const rotated = await workspace("rotate", id, "--secret-file", files[1]);
  const disconnected = await workspace("disconnect", id);
  const connected = await workspace("connect", id, "--secret-file", files[2]);
  expect([created, rotated, disconnected, connected].map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  const secrets = files.map((file) => readFileSync(file, "utf8").trim());
  expect(new Set(secrets).size).toBe(3);
  expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  const said = [created, rotated, connected].map(({ stdout, stderr }) => stdout + stderr).join("");
  for (const secret of secrets) expect(said).not.toContain(secret);
  expect((await poll(service.url, { id, secret: secrets[2] ?? "" })).status).toBe(200);
  expect((await poll(service.url, { id, secret: secrets[1] ?? "" })).status).toBe(401);
});

test.each([[["create", "Nobody's"]], [["rotate", UNKNOWN]], [["connect", UNKNOWN]]])(
  "%j without a place for the secret does nothing and says what to say",
  async (args) => {
    const { code, stdout, stderr } = await workspace(...args);
    expect([code, stdout]).toEqual([EXIT.USAGE, ""]);
    expect(stderr).toMatch(/--show-secret or --secret-file/);
  },
);

test("a secret goes into no file that is there already, and nothing is changed", async () => {
  const { id, secret } = await api.make();
  const file = join(folder, "taken");
  writeFileSync(file, "mine");
  const { code, stderr } = await workspace("rotate", id, "--secret-file", file);
  expect([code, stderr]).toEqual([
    EXIT.CANNOT_WRITE,
    expect.stringContaining("nothing was changed") as string,
  ]);
  expect(readFileSync(file, "utf8")).toBe("mine");
  expect((await api.get(id)).workspace?.secrets).toHaveLength(1);
  expect((await poll(service.url, { id, secret })).status).toBe(200);
});

test("on a full disk no secret is made, and no file is left", async () => {
  const { id, secret } = await api.make();
  const file = join(folder, "full");
  const { code, stdout, stderr } = await runCli(["workspace", "rotate", id, "--secret-file", file], {
    corePort: service.core.port,
    // Files cannot grow.
    through: ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"],
  });
  expect([code, stdout, stderr]).toEqual([
    EXIT.CANNOT_WRITE,
    "",
    expect.stringMatching(/cannot be written .*nothing was changed/) as string,
  ]);
  expect(() => statSync(file)).toThrow("ENOENT");
  expect((await api.get(id)).workspace?.secrets).toHaveLength(1);
  expect((await poll(service.url, { id, secret })).status).toBe(200);
});

test("no file of a secret is left where none was made", async () => {
  const file = join(folder, "none");
  expect((await workspace("rotate", UNKNOWN, "--secret-file", file)).code).toBe(EXIT.NOT_FOUND);
  expect(() => statSync(file)).toThrow("ENOENT");
});

test("list shows all workspaces, newest first, as a table and as JSON", async () => {
  const older = await api.make({ name: "older" });
  // Of two that were made in one ms, neither is newer.
  await until("the clock has gone on", () => Date.now() > (older.createdAt?.getTime() ?? Infinity));
  const made = [older, await api.make({ name: "newer" })];
  const table = await workspace("list", "--limit", "all");
  const [head, first, second] = table.stdout.split("\n");
  expect(head).toMatch(/^ID +MODE +STATE +CREATED +NAME$/);
  expect(first).toMatch(new RegExp(`^${made[1]?.id} +poll +connected +\\S+ +newer$`));
  expect(second).toContain(made[0]?.id);
  const { json } = await workspace("list", "--limit", "all", "--json");
  const expected = (await api.list(1_000)).workspaces.map(({ id }) => id);
  expect((json as readonly { id: string }[]).map(({ id }) => id)).toEqual(expected);
  expect(table.stdout + JSON.stringify(json)).not.toMatch(new RegExp(`\\b${made[0]?.secret}\\b`));
});

test("list says where it stops before the end", async () => {
  await api.make();
  await api.make();
  const { code, json, stderr } = await workspace("list", "--limit", "1", "--json");
  expect([code, (json as unknown[]).length]).toEqual([EXIT.DONE, 1]);
  expect(stderr).toContain("--limit all");
});

// contract: secret-shown-once
test("show tells what a workspace is and how it polls, and never its secret", async () => {
  const { id, name, secret } = await api.make({ name: "Cleo's" });
  const facts = await workspace("show", id);
  expect(facts.stdout).toMatch(/^name +Cleo's$/m);
  expect(facts.stdout).toMatch(/^last poll +never$/m);
  expect(facts.stdout).not.toContain(secret);
  const { json } = await workspace("show", id.toUpperCase(), "--json");
  expect(json).toMatchObject({
    workspace: { id, name },
    health: { mode: "poll", failing: false, waiting: 0 },
  });
  expect(JSON.stringify(json)).not.toMatch(new RegExp(SECRET_FORM.source + '"'));
});

// contract: push-https
test("set-url turns a workspace to push and back, update changes its name and owner", async () => {
  const { id } = await api.make();
  expect((await workspace("set-url", id, "https://8.8.8.8/events", "--json")).json).toMatchObject({
    workspace: { mode: "push", targetUrl: "https://8.8.8.8/events" },
  });
  expect((await workspace("set-url", id, "--clear", "--json")).json).toMatchObject({
    workspace: { mode: "poll", targetUrl: "" },
  });
  expect((await workspace("update", id, "--name", "new", "--json")).json).toMatchObject({
    workspace: { name: "new" },
  });
  const refused = await workspace("set-url", id, "http://8.8.8.8/");
  expect([refused.code, refused.stderr]).toEqual([
    EXIT.DATA,
    expect.stringContaining("target_url") as string,
  ]);
});

test("delete removes nothing where nobody can be asked, unless --yes says so", async () => {
  const { id } = await api.make();
  const asked = await workspace("delete", id);
  expect([asked.code, asked.stderr]).toEqual([EXIT.USAGE, expect.stringContaining("--yes") as string]);
  expect((await api.get(id)).workspace?.id).toBe(id);
  expect((await workspace("delete", id, "--yes", "--json")).json).toEqual({ deleted: id });
  expect((await workspace("show", id)).code).toBe(EXIT.NOT_FOUND);
});

describe("delete asks a person", () => {
  async function deleteAnswering(id: string, reply: string): Promise<{ code: number; asked: string }> {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const stderr = new PassThrough({ encoding: "utf8" });
    stdin.end(reply);
    const code = await runInProcess(["workspace", "delete", id], {
      terminal: createTerminal({ stdin, stdout: new PassThrough().resume(), stderr }),
      environment: { CORE_ADDRESS: `127.0.0.1:${service.core.port}`, CORE_TOKEN: TOKENS.operator },
      interruption: () => new AbortController().signal,
    });
    return { code, asked: String(stderr.read() ?? "") };
  }

  test.each(["n\n", "\n", "yes, why not\n", ""])("and deletes nothing for the answer %j", async (reply) => {
    const { id } = await api.make({ name: "kept" });
    const { code, asked } = await deleteAnswering(id, reply);
    expect(code).toBe(EXIT.NO);
    expect(asked).toContain(`Delete ${id} "kept"`);
    expect((await api.get(id)).workspace?.id).toBe(id);
  });

  test("and deletes for the answer y", async () => {
    const { id } = await api.make();
    expect((await deleteAnswering(id, "y\n")).code).toBe(EXIT.DONE);
    expect((await workspace("show", id)).code).toBe(EXIT.NOT_FOUND);
  });
});

test("escape sequences in names do not reach the terminal, neither as a table nor as JSON", async () => {
  const name = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202eevil\r\nnext";
  const { id } = await api.make({ name });
  const shown = await workspace("show", id, "--json");
  const runs = [
    shown,
    await workspace("show", id),
    await workspace("list"),
    await workspace("list", "--json"),
  ];
  for (const { code, stdout } of runs) {
    expect(code).toBe(EXIT.DONE);
    expect(stdout).toContain("evil");
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  }
  expect(shown.json).toMatchObject({ workspace: { name } });
});
