import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { docProgram } from "../harness/doc-blocks";
import { testFolder } from "../harness/folder";
import { testWith } from "../harness/installed";
import { startProgram } from "../harness/program";
import { until } from "../harness/wait";
import { expectedStops, expectedVerdicts, judge, judgeStops, type Running } from "./judge";
import { endOf, startOddService, type OddService, type OddWorkspace } from "./odd-service";
import { ODD_ANSWERS, type Reaction } from "./rows";

const GUIDE = "docs/bridge-guide.md";
const folder = testFolder();
let service: OddService;
beforeAll(async () => {
  service = await startOddService();
});
afterAll(() => service.close());

const environmentOf = (baseUrl: string, { id, secret }: OddWorkspace) => ({
  BASE_URL: baseUrl,
  WORKSPACE_ID: id,
  SIGNING_SECRET: secret,
});

/** Starts the guide's Python bridge in a separate folder, because the bridge saves its cursor in the working folder. */
function startPython(
  baseUrl: string,
  workspace: OddWorkspace,
  { cursor, more = {} }: { readonly cursor?: Buffer; readonly more?: Record<string, string> } = {},
): Running {
  const cwd = mkdtempSync(join(folder, "python-"));
  writeFileSync(join(cwd, "bridge.py"), docProgram(GUIDE, "python", "bridge.py"));
  if (cursor !== undefined) writeFileSync(join(cwd, "cursor.txt"), cursor);
  const environment = { ...environmentOf(baseUrl, workspace), ...more };
  const program = startProgram(["python3", "bridge.py"], { cwd, environment });
  return { ...program, send: program.type };
}

// time: ordering
testWith(["python3", "--version"])("the guide's Python bridge continues after every odd answer", async () => {
  const seen = await judge(service, ODD_ANSWERS, { start: (...on) => startPython(...on), lanes: 5 });
  expect(seen).toEqual(expectedVerdicts(ODD_ANSWERS));
});

testWith(["python3", "--version"])(
  "the guide's Python bridge logs the refusal of a poll and exits, but waits if the refusal has a long Retry-After",
  async () => {
    expect(await judgeStops(service, ODD_ANSWERS, (...on) => startPython(...on))).toEqual(
      expectedStops(ODD_ANSWERS),
    );
  },
);

testWith(["python3", "--version"])(
  "the guide's Python bridge continues after a text that its terminal cannot show, and after a line that is not UTF-8",
  async () => {
    const toPolls = [{ name: "a medal \u{1f947}", bytes: () => Buffer.alloc(0) }];
    const workspace = service.add({ toPolls });
    const more = { PYTHONIOENCODING: "cp1252" };
    const bridge = startPython(service.baseUrl, workspace, { more });
    await until("the bridge shows the later event", () => bridge.output().includes(endOf("the end")));
    expect(bridge.output()).toContain(`c1: ${endOf("a medal ?")}`);
    bridge.send("\u{1f44d}"); // 0x8d and other bytes have no meaning in this encoding
    await until("the bridge sends the line", () => workspace.posts.length > 0);
    await bridge.stop();
  },
);

testWith(["python3", "--version"])(
  "the guide's Python bridge exits if it cannot poll at all, e.g. because its cursor file does not contain text",
  async () => {
    const bridge = startPython(service.baseUrl, service.add({}), { cursor: Buffer.from([0xff, 0xfe]) });
    expect(await bridge.exited).toBe(1);
    expect(bridge.output()).toContain("UnicodeDecodeError");
  },
);

/** The exit code of the guide's shell program for each required reaction to an answer. */
const SHELL_CODES: Readonly<Record<Reaction, number>> = { ok: 0, retry: 75, wait: 75, stop: 1 };

testWith(["openssl", "version"], ["curl", "--version"])(
  "the exit code of the guide's shell program says whether the event is stored, or whether a retry may help",
  async () => {
    const rows = ODD_ANSWERS.filter(({ send }) => send !== undefined);
    const workspace = service.add({ byText: new Map(rows.map((row) => [row.name, row])) });
    writeFileSync(join(folder, "send.sh"), docProgram(GUIDE, "sh", "send.sh"));
    const env = { PATH: process.env["PATH"], ...environmentOf(service.baseUrl, workspace) };
    const codes = rows.map(async ({ name: text }) => {
      const event = { type: "command", id: text, channel: "c1", user: { id: "u1" }, text };
      const code = await new Promise((resolve) => {
        const child = execFile("sh", ["send.sh"], { cwd: folder, env }, () => resolve(child.exitCode));
        child.stdin?.end(JSON.stringify(event));
      });
      return [text, code] as const;
    });
    const expected = rows.map(({ name, send = "ok" }) => [name, SHELL_CODES[send]] as const);
    expect(Object.fromEntries(await Promise.all(codes))).toEqual(Object.fromEntries(expected));
    expect(workspace.faults).toEqual([]);
  },
);
