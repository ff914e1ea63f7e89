import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { EXIT, EXIT_CODE_WORDS } from "../../cli/exit-code";
import { CLI_MAIN, runCli } from "../harness/cli";

jest.setTimeout(120_000);

describe("--help", () => {
  test("of the whole names every exit code", async () => {
    const { code, stdout } = await runCli(["--help"]);
    expect(code).toBe(EXIT.DONE);
    for (const [number, words] of Object.entries(EXIT_CODE_WORDS))
      expect(stdout).toContain(`${number}  ${words}`);
  });

  test.each([
    [[]],
    [["workspace"]],
    [["workspace", "create"]],
    [["workspace", "list"]],
    [["workspace", "show"]],
    [["workspace", "update"]],
    [["workspace", "rotate"]],
    [["workspace", "disconnect"]],
    [["workspace", "connect"]],
    [["workspace", "delete"]],
    [["workspace", "set-url"]],
    [["send-test"]],
    [["publish"]],
    [["tail"]],
    [["tail", "deliveries"]],
    [["tail", "events"]],
    [["sign"]],
    [["verify"]],
    [["completion"]],
  ])("of %j teaches by examples, and needs no settings", async (command) => {
    const { code, stdout, stderr } = await runCli([...command, "--help"], { role: "nobody" });
    expect([code, stderr]).toEqual([EXIT.DONE, ""]);
    expect(stdout).toMatch(new RegExp(`^Usage: ${["chat-bridge", ...command].join(" ")}\\b`));
    expect(stdout).toMatch(/^Examples?.*:\n {2}\$ /m);
  });
});

test("bash completes commands, choices and, where neither is asked for, files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cli-"));
  writeFileSync(join(folder, "chat-bridge"), `#!/bin/sh\nexec "${process.execPath}" "${CLI_MAIN}" "$@"\n`, {
    mode: 0o755,
  });
  const script = `
    source <(chat-bridge completion bash)
    ask() { COMP_WORDS=(chat-bridge "$@"); COMP_CWORD=$#; COMPREPLY=(); _chat_bridge; echo "\${COMPREPLY[*]}"; }
    ask wor; ask workspace ''; ask publish w1 --kind hang; ask publish w1 --channel ''; complete -p chat-bridge`;
  const { stdout } = await promisify(execFile)("bash", ["-c", script], {
    env: { PATH: [folder, process.env["PATH"]].join(delimiter) },
  });
  rmSync(folder, { recursive: true });
  expect(stdout.split("\n")).toEqual([
    "workspace",
    "create rotate connect list show update set-url disconnect delete",
    "hangman_board hangman_end",
    "",
    expect.stringContaining("-o default"),
    "",
  ]);
});
