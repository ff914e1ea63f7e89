import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { firstRequest, secretCommand } from "../../dashboard/words/first-request";
import { LANGUAGES, type Language } from "../../dashboard/words/languages";
import { testFolder } from "../harness/folder";
import { status } from "../harness/behaviours";
import { sharedPush } from "../harness/push";
import { textEvent } from "../harness/service";
import { findGo, goEnvironment } from "../programs/go";

/** Timeout in ms. The first compilation with Go takes a long time. */
const COMPILE_MS = 400_000;
const TSX = require.resolve("tsx/cli");

const push = sharedPush();
const folder = testFolder();

/** The file name of each program, and the command that runs the program. */
const RUNS: Readonly<Record<Language, readonly [file: string, command: string]>> = {
  curl: ["first.sh", "sh first.sh"],
  typescript: ["first.mts", `'${process.execPath}' '${TSX}' first.mts`],
  python: ["first.py", "python3 first.py"],
  go: ["first.go", "go run first.go"],
};

/** Sets the secret in a shell, as the page says, runs a program, and returns its output. */
async function runProgram(language: Language, code: string, secret: string): Promise<string> {
  const [file, command] = RUNS[language];
  const cwd = join(folder, `${language}-${code.length}`);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, file), code);
  const env = language === "go" ? goEnvironment(await findGo()) : process.env;
  return (await promisify(execFile)("sh", ["-c", `${secretCommand(secret)}\n${command}`], { cwd, env }))
    .stdout;
}

describe.each(LANGUAGES.map(({ name }) => name))("in %s,", (language) => {
  test(
    "the program for the first request sends a signed event and polls",
    async () => {
      const { id, secret } = await push.workspaces.make();
      const [event] = await push.publish(textEvent(id, "Who is in?"));
      const facts = { publicUrl: push.service.url, workspaceId: id, mode: "poll" } as const;
      const code = firstRequest(language, facts);
      const printed = await runProgram(language, code, secret);
      expect(printed).toMatch(/\b202\b[^]*\{"ok":true\}[^]*\b200\b[^]*"Who is in\?"/);
      expect(printed).toContain(event?.eventId);
      expect(code).toMatch(new RegExp(`^(?:#|//) ${RUNS[language][0]}: `));
      expect(code).not.toContain(secret);
    },
    COMPILE_MS,
  );

  test(
    "for a push workspace, the program sends an event but does not poll, and it prints a refusal",
    async () => {
      const bridge = await push.bridge();
      bridge.behave(status(204));
      const facts = { publicUrl: push.service.url, workspaceId: bridge.workspaceId, mode: "push" } as const;
      const code = firstRequest(language, facts);
      expect(await runProgram(language, code, bridge.secret)).toMatch(/\b202\b[^]*\{"ok":true\}\s*$/);
      expect(await runProgram(language, code, "another secret")).toMatch(/\b401\b/);
    },
    COMPILE_MS,
  );
});
