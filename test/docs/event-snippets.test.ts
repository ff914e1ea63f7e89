import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventSnippet, pushHeaders } from "../../dashboard/words/event-snippets";
import { LANGUAGES, type Language } from "../../dashboard/words/languages";
import { testFolder } from "../harness/folder";
import { startReceiver, type Receiver } from "../harness/receiver";
import { verifyPush } from "../harness/verify-push";
import { findGo, goEnvironment } from "../programs/go";

const run = promisify(execFile);
/** Timeout of a test, ms. The first compilation takes a long time. */
const COMPILE_MS = 600_000;
const SECRET = 'whsec_it\'s a $SECRET \\ with "quotes"';
/** A text with characters that are difficult to quote in one of the languages. */
const TEXT = `it's "quoted" \\ \`$(id)\` \${x} %s %d\n\t\u0000 ß 🦊 محمد \u202e\u2028\ufeff </script> '''`;

let receiver: Receiver;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  receiver = await startReceiver();
  env = { ...goEnvironment(await findGo()), SIGNING_SECRET: SECRET };
}, COMPILE_MS);
afterAll(() => receiver.close());

const folder = testFolder();
const file = (name: string) => join(folder, name);
const RUNS: Readonly<Record<Language, readonly [file: string, program: string, ...args: string[]]>> = {
  curl: ["push.sh", "sh", "-e"],
  typescript: ["push.mjs", process.execPath],
  python: ["push.py", "python3"],
  go: ["push.go", "go", "run"],
};

test.each(LANGUAGES)(
  "the program in $label pushes the same bytes and headers as the service, with a valid signature",
  async ({ name }) => {
    const json = JSON.stringify({ id: "evt_1", type: "message.create", workspace: "w1", text: TEXT });
    const before = receiver.requests.length;
    const targetUrl = `${receiver.url}?it's=$1`;
    const [path, program, ...args] = RUNS[name];
    writeFileSync(file(path), eventSnippet(name, { workspaceId: "w1", eventId: "evt_1", targetUrl, json }));
    const { stdout } = await run(program, [...args, file(path)], { env });
    expect(stdout).toContain("204");
    const request = await receiver.nth(before + 1);
    expect(request.body.toString()).toBe(json);
    verifyPush(request, [SECRET]);
    // Some clients encode the quote.
    expect(decodeURIComponent(`${new URL(receiver.url).origin}${request.path}`)).toBe(targetUrl);
    const sent = pushHeaders({ workspaceId: "w1", eventId: "evt_1", targetUrl, json });
    for (const [header, value] of sent) {
      if (!value.includes("<"))
        expect([header, request.headers[header.toLowerCase()]]).toEqual([header, value]);
    }
  },
  COMPILE_MS,
);

test.each(LANGUAGES)("the program in $label contains no secret and no hidden characters", ({ name }) => {
  const json = JSON.stringify({ text: TEXT });
  const snippet = eventSnippet(name, {
    workspaceId: "w1",
    eventId: "evt_1",
    targetUrl: "https://b.test/",
    json,
  });
  expect(snippet).toContain("SIGNING_SECRET");
  // A shell has no portable escape, so the program for curl contains the characters themselves.
  if (name !== "curl") expect(snippet).not.toMatch(/[\u202e\u2028\ufeff]/);
});

test("the program in Go has the standard format", async () => {
  const snippet = eventSnippet("go", {
    workspaceId: "w1",
    eventId: "e",
    targetUrl: "https://b.test/",
    json: "{}",
  });
  writeFileSync(file("format.go"), `${snippet}\n`);
  expect((await run("gofmt", ["-l", file("format.go")], { env })).stdout).toBe("");
});
