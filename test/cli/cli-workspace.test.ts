import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../../cli/exit-code";
import { poll } from "../harness/bridge";
import { runCli, startCliProcess } from "../harness/cli";
import { testFolder } from "../harness/folder";
import { deliveryOf } from "../harness/push-queue";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { openTestStore } from "../harness/store";
import { until } from "../harness/wait";

const service = sharedService();
const { workspaces: api } = service;
const corePort = service.core.port;
const folder = testFolder();

const UNKNOWN = "11111111-2222-4333-8444-555555555555";

const workspace = (args: string) => runCli(`workspace ${args}`, { corePort });
const run = (args: readonly string[]) => runCli(args, { corePort });
const pollStatus = async (id: string, secret: string) => (await poll(service.url, { id, secret })).status;
const secretsOf = async (id: string) => (await api.get(id)).workspace?.secrets;

test("the `create` command creates a workspace, and the option --show-secret prints the workspace's secret", async () => {
  const run = await workspace("create Ann's --owner ann@a.example --show-secret --json");
  expect([run.code, run.stderr]).toEqual([EXIT.DONE, ""]);
  const { workspace: made, signingSecret } = run.json as { workspace: { id: string }; signingSecret: string };
  expect(made).toMatchObject({ name: "Ann's", ownerEmail: "ann@a.example", mode: "poll", connected: true });
  expect(await pollStatus(made.id, signingSecret)).toBe(200);
});

test("the `create`, `rotate` and `connect` commands write the secret to a new private file, and do not print it", async () => {
  const files = ["one", "two", "three"].map((name) => join(folder, name));
  const created = await workspace(`create Ben's --secret-file ${files[0]} --json`);
  const { id } = (created.json as { workspace: { id: string } }).workspace;
  const runs = [created];
  for (const args of [`rotate ${id} --secret-file ${files[1]}`, `disconnect ${id}`])
    runs.push(await workspace(args));
  runs.push(await workspace(`connect ${id} --secret-file ${files[2]}`));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  const secrets = files.map((file) => readFileSync(file, "utf8").trim());
  expect(new Set(secrets).size).toBe(3);
  const printed = runs.map(({ stdout, stderr }) => stdout + stderr).join("");
  for (const secret of secrets) expect(printed).not.toContain(secret);
  const [, rotated = "", newest = ""] = secrets;
  expect([await pollStatus(id, newest), await pollStatus(id, rotated)]).toEqual([200, 401]);
});

test("the `create` command prints the three settings of a bridge", async () => {
  const environment = { BASE_URL: "http://edge:8080", PUBLIC_URL: "https://bridges.example.org" };
  const options = { corePort, environment };
  const shown = await runCli("workspace create Shown --show-secret", options);
  const settings =
    /\nBASE_URL=https:\/\/bridges\.example\.org\nWORKSPACE_ID=(\S+)\nSIGNING_SECRET=(\S+)\n$/.exec(
      shown.stdout,
    );
  expect(await pollStatus(settings?.[1] ?? "", settings?.[2] ?? "")).toBe(200);
  const file = join(folder, "of a bridge");
  const kept = await runCli(["workspace", "create", "Kept", "--secret-file", file], { corePort });
  expect(kept.stdout).toContain("\nBASE_URL=http://127.0.0.1:8080\nWORKSPACE_ID=");
  const onOneMachine = { corePort, environment: { BASE_URL: "https://hooks.example.org" } };
  const third = await runCli("workspace create Third --show-secret", onOneMachine);
  expect(third.stdout).toContain("\nBASE_URL=https://hooks.example.org\nWORKSPACE_ID=");
  expect(kept.stdout).toContain(`\nSIGNING_SECRET_FILE='${file}'\n`);
  const withQuote = join(folder, "Ann's secret");
  const quoted = await runCli(["workspace", "create", "Quoted", "--secret-file", withQuote], { corePort });
  const setting = quoted.stdout.trimEnd().split("\n").at(-1) ?? "";
  expect(
    execFileSync("sh", ["-c", `${setting}; printf %s "$SIGNING_SECRET_FILE"`], { encoding: "utf8" }),
  ).toBe(withQuote);
});

const WITHOUT_PLACE = ["create Nobody's", `rotate ${UNKNOWN}`, `connect ${UNKNOWN}`];
test.each(WITHOUT_PLACE)("%s does nothing without --show-secret or --secret-file", async (args) => {
  const { code, stdout, stderr } = await workspace(args);
  expect([code, stdout]).toEqual([EXIT.USAGE, ""]);
  expect(stderr).toMatch(/--show-secret or --secret-file/);
});

test("no secret is created if the secret file exists or the disk is full", async () => {
  const { id, secret } = await api.make();
  const [taken, full] = [join(folder, "taken"), join(folder, "full")];
  writeFileSync(taken, "mine");
  const inTheWay = await workspace(`rotate ${id} --secret-file ${taken}`);
  // With `ulimit -f 0`, files cannot grow, as on a full disk.
  const through = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"];
  const args = `workspace rotate ${id} --secret-file ${full}`;
  const onFullDisk = await startCliProcess(args, { corePort, through }).ended;
  for (const { code, stdout, stderr } of [inTheWay, onFullDisk]) {
    const message = expect.stringMatching(/nothing was changed/) as string;
    expect([code, stdout, stderr]).toEqual([EXIT.CANNOT_WRITE, "", message]);
  }
  expect(onFullDisk.stderr).toContain("cannot write the secret file");
  expect(readFileSync(taken, "utf8")).toBe("mine");
  expect(() => statSync(full)).toThrow("ENOENT");
  expect(await secretsOf(id)).toHaveLength(1);
  expect(await pollStatus(id, secret)).toBe(200);
});

test("no secret file is left if core rejects the call", async () => {
  const file = join(folder, "none");
  expect((await workspace(`rotate ${UNKNOWN} --secret-file ${file}`)).code).toBe(EXIT.NOT_FOUND);
  expect(() => statSync(file)).toThrow("ENOENT");
});

test("the `list` command prints workspaces by state, newest first within a state, as a table or JSON, and says whether there are more", async () => {
  const older = await api.make({ name: "older" });
  // Workspaces that are created in the same millisecond have no defined order.
  await until("the clock has advanced", () => Date.now() > (older.createdAt?.getTime() ?? Infinity));
  const newer = await api.make({ name: "newer" });
  const table = await workspace("list --limit all");
  const [head, ...rows] = table.stdout.split("\n");
  expect(head).toMatch(/^ID +MODE +HEALTH +LAST CONTACT +NAME$/);
  const first = rows.findIndex((row) => row.includes(newer.id));
  expect(rows[first]).toMatch(new RegExp(`^${newer.id} +poll +Never polled +never +newer$`));
  expect(rows[first + 1]).toContain(older.id);
  const { json } = await workspace("list --limit all --json");
  const expected = (await api.list(1_000)).workspaces.map(({ id }) => id);
  const listed = (json as readonly { id: string }[]).map(({ id }) => id);
  expect(listed.toSorted()).toEqual(expected.toSorted());
  expect(rows.slice(0, rows.indexOf("")).map((row) => row.slice(0, 36))).toEqual(listed);
  expect(table.stdout + JSON.stringify(json)).not.toContain(older.secret);

  const short = await workspace("list --limit 1 --json");
  expect([short.code, (short.json as unknown[]).length]).toEqual([EXIT.DONE, 1]);
  expect(short.stderr).toContain("--limit all");
});

// contract: secret-shown-once
test("the `show` command prints the fields and the health of a workspace, but not its secret", async () => {
  const { id, name, secret } = await api.make({ name: "Cleo's" });
  const facts = await workspace(`show ${id}`);
  expect(facts.stdout).toMatch(/^name +Cleo's$/m);
  expect(facts.stdout).toMatch(/^last poll +never$/m);
  const { json } = await workspace(`show ${id.toUpperCase()} --json`);
  const health = { mode: "poll", failing: false, waiting: 0 };
  expect(json).toMatchObject({ workspace: { id, name }, health });
  expect(facts.stdout + JSON.stringify(json)).not.toContain(secret);
  expect(JSON.stringify(json)).not.toMatch(/[A-Za-z0-9_-]{43}"/);
});

// contract: push-https
test("`set-url` switches a workspace to pushes and back to polls, and rejects an http:// URL; `update` changes the workspace's name", async () => {
  const { id } = await api.make();
  const url = "https://8.8.8.8/events";
  for (const [args, changed] of [
    [`set-url ${id} ${url}`, { mode: "push", targetUrl: url }],
    [`set-url ${id} --clear`, { mode: "poll", targetUrl: "" }],
    [`update ${id} --name new`, { name: "new" }],
  ] as const) {
    expect((await workspace(`${args} --json`)).json).toMatchObject({ workspace: changed });
  }
  const { code, stderr } = await workspace(`set-url ${id} http://8.8.8.8/`);
  expect([code, stderr]).toEqual([EXIT.DATA, expect.stringContaining("target_url")]);
});

test("the `changes` command lists the changes, newest first, each with the name of the token", async () => {
  const { id } = await api.make({ name: "Old" });
  await workspace(`update ${id} --name New`);
  const { code, json } = await runCli(`changes ${id} --json`, { corePort });
  expect([code, json]).toEqual([
    EXIT.DONE,
    [
      expect.objectContaining({ by: "operator", change: "renamed", detail: "Old → New" }),
      expect.objectContaining({ by: "operator", change: "created", detail: "Old" }),
    ],
  ]);
  const { stdout } = await runCli(`changes ${id}`, { corePort });
  expect(stdout).toMatch(/^AT +BY +CHANGE +DETAIL\n\S+Z +operator +renamed +Old → New\n/);
  expect((await runCli(`changes ${UNKNOWN}`, { corePort })).code).toBe(EXIT.NOT_FOUND);
});

describe("deleting:", () => {
  test("the `delete` command requires --yes if there is no terminal", async () => {
    const { id } = await api.make();
    const asked = await workspace(`delete ${id}`);
    expect([asked.code, asked.stderr]).toEqual([EXIT.USAGE, expect.stringContaining("--yes")]);
    expect((await api.get(id)).workspace?.id).toBe(id);
    expect((await workspace(`delete ${id} --yes --json`)).json).toEqual({ deleted: id });
    expect((await workspace(`show ${id}`)).code).toBe(EXIT.NOT_FOUND);
  });

  test("at a terminal, the `delete` command asks for confirmation, and deletes only after the answer y", async () => {
    const { id } = await api.make({ name: "kept" });
    const answer = (stdin: string) => runCli(`workspace delete ${id}`, { corePort, stdin, isTTY: true });
    for (const no of ["n\n", "\n", "yes, why not\n", ""]) {
      const { code, stderr } = await answer(no);
      expect([code, stderr]).toEqual([
        EXIT.NO,
        expect.stringContaining(
          `Delete ${id} "kept", its secrets, its held and failed events, and its logs of deliveries and changes?`,
        ),
      ]);
      expect((await api.get(id)).workspace?.id).toBe(id);
    }
    expect((await answer("y\n")).code).toBe(EXIT.DONE);
    expect((await workspace(`show ${id}`)).code).toBe(EXIT.NOT_FOUND);
  });
});

describe("with a failing bridge,", () => {
  let failing: TestWorkspace;
  let polled: TestWorkspace;
  beforeAll(async () => {
    failing = await api.make({ name: "Chess club", targetUrl: "https://8.8.8.8/events" });
    polled = await api.make({ name: "Pizza guild", ownerEmail: "pia@example.com" });
    await poll(service.url, polled);
    const store = await openTestStore(service.redis.url);
    const delivery = deliveryOf({ eventId: "evt_1", eventType: "message.create" }, 1, "status");
    await store.deliveryLog.append(failing.id, { ...delivery, status: 503 });
    await store.close();
  });

  test("the `list` command prints failing workspaces first, each workspace's health and last contact, and the totals", async () => {
    const { stdout } = await workspace("list --limit all");
    const rows = stdout.split("\n");
    const lineOf = ({ id }: TestWorkspace) => rows.findIndex((row) => row.startsWith(id));
    expect(rows[lineOf(failing)]).toMatch(/ push +Failing +\S+Z 503 +Chess club$/);
    expect(rows[lineOf(polled)]).toMatch(/ poll +Healthy +\S+Z poll +Pizza guild$/);
    expect(lineOf(failing)).toBeLessThan(lineOf(polled));
    expect(stdout).toMatch(/^\d+ workspaces: .*\d+ failing, .*\d+ healthy/m);
  });

  test("`list --state` prints only the workspaces with the state, and --search only those that contain the words", async () => {
    const state = await workspace("list --state failing --json");
    const failed = state.json as readonly { id: string; summary: object }[];
    expect(failed.find(({ id }) => id === failing.id)?.summary).toMatchObject({
      state: "failing",
      lastAttempt: { result: "status", status: 503 },
    });
    expect(failed.map(({ id }) => id)).not.toContain(polled.id);
    const search = async (args: string) =>
      (
        (await workspace(`list ${args} --json`)).json as readonly { id: string; summary: object | null }[]
      ).map(({ id, summary }) => [id, summary === null]);
    expect(await search("--search PIA@example")).toEqual([[polled.id, false]]);
    expect(await search("--search PIA@example --state failing")).toEqual([]);
    const none = await workspace("list --state disconnected --search PIA@example");
    expect(none.stdout).toMatch(/^No workspace fits the search\.\n/);
    const unknown = await workspace("list --state broken");
    expect([unknown.code, unknown.stderr]).toEqual([EXIT.USAGE, expect.stringContaining("one of failing, ")]);
  });

  test.each([["Chess club"], ["chess CLUB"]])(
    "a command accepts the unique name %j instead of the id",
    async (name) => {
      const shown = await run(["workspace", "show", name, "--json"]);
      expect(shown.json).toMatchObject({ workspace: { id: failing.id } });
      const failed = await run(["failed", name, "--json"]);
      expect([failed.code, failed.json]).toEqual([EXIT.DONE, []]);
    },
  );

  test("a name that several workspaces have is ambiguous, unless only one of them has it in the same case", async () => {
    const [one, other] = [await api.make({ name: "Twins" }), await api.make({ name: "twins" })];
    const show = (name: string) => run(["workspace", "show", name, "--json"]);
    expect((await show("twins")).json).toMatchObject({ workspace: { id: other.id } });
    const ambiguous = await show("TWINS");
    expect(ambiguous.code).toBe(EXIT.USAGE);
    for (const { id } of [one, other]) expect(ambiguous.stderr).toContain(id);
    const none = await show("nobody's");
    expect([none.code, none.stderr]).toEqual([EXIT.NOT_FOUND, expect.stringContaining('"nobody\'s"')]);
  });
});

// Core rejects escape sequences in names. test/cli/cli-events.test.ts tests escape sequences in events.
test("invisible characters in names do not reach the terminal, neither in a table nor in JSON", async () => {
  const name = "\u200e\ufeffevil\u061c\u2060";
  const { id } = await api.make({ name });
  const commands = [`show ${id} --json`, `show ${id}`, "list", "list --json"];
  const runs = await Promise.all(commands.map(workspace));
  for (const { code, stdout } of runs) {
    expect([code, stdout]).toEqual([EXIT.DONE, expect.stringContaining("evil")]);
    expect(stdout).not.toMatch(/[\u200e\ufeff\u061c\u2060]/);
  }
  expect(runs[0]?.json).toMatchObject({ workspace: { name } });
});
