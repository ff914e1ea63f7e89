import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../../test/harness/folder";
import { startProgram } from "../../../test/harness/program";
import { until } from "../../../test/harness/wait";

const folder = testFolder();
const MAIN = join(__dirname, "../chat-bridge-irc.mjs");
const run = (args: readonly string[], environment: Record<string, string> = {}) =>
  startProgram([process.execPath, MAIN, ...args], { cwd: folder, environment });
const SETTINGS = {
  BASE_URL: "http://127.0.0.1:1",
  WORKSPACE_ID: "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f",
  IRC_HOST: "127.0.0.1",
  IRC_PORT: "1",
};

test("--help lists every setting with its default, and --version prints the version", async () => {
  const help = run(["--help"]);
  await until("the help is printed", () => help.output().includes("IRC_LINE_MS"));
  expect(help.output()).toMatch(/IRC_PORT .*Default: 6697/);
  expect(help.output()).toContain("chat-bridge-irc init ");
  expect(help.output()).toMatch(/SIGNING_SECRET_FILE:\s+a file that contains it\. Required\./);
  const version = run(["--version"]);
  await until("the version is printed", () => /^chat-bridge-irc \d/.test(version.output()));
});

test("all invalid settings are reported together, without their values", async () => {
  const program = run([], {
    ...SETTINGS,
    IRC_PORT: "sixty",
    IRC_CHANNELS: "two words here",
    SIGNING_SECRET_FILE: "/nowhere",
  });
  await until("the faults are printed", () => program.output().includes("IRC_CHANNELS"));
  expect(program.output()).toContain("IRC_PORT must be an integer from 1 to 65535: port of the IRC server");
  expect(program.output()).toContain("SIGNING_SECRET_FILE names a file that cannot be read");
  expect(program.output()).not.toMatch(/sixty|two words here|\/nowhere/);
  expect(await program.exited).toBe(78);
});

test.each([
  [{ IRC_SASL: "plain" }, "IRC_SASL=plain needs IRC_SASL_ACCOUNT and IRC_SASL_PASSWORD"],
  [{ IRC_SASL: "external" }, "IRC_SASL=external needs IRC_CERT, IRC_KEY and IRC_TLS=on"],
  [{ IRC_CHANNELS: "" }, "IRC_CHANNELS is missing: give the channels to join"],
])("settings that do not fit together are reported: %p", async (more, fault) => {
  const program = run([], { ...SETTINGS, SIGNING_SECRET: "s", IRC_CHANNELS: "games", ...more });
  await until("the fault is printed", () => program.output().includes(fault));
  expect(await program.exited).toBe(78);
});

test("settings come from a file, the environment overrides the file, and SIGTERM stops the bridge", async () => {
  const state = mkdtempSync(join(folder, "state-"));
  const secretFile = join(folder, "secret");
  writeFileSync(secretFile, "a signing secret\n");
  const more = {
    SIGNING_SECRET_FILE: secretFile,
    STATE_FOLDER: state,
    IRC_CHANNELS: '"#games"',
    LOG_LEVEL: "nonsense",
  };
  const lines = Object.entries({ ...SETTINGS, ...more }).map(([name, value]) => `${name}=${value}`);
  const file = join(folder, "irc.env");
  writeFileSync(file, lines.join("\n"));
  const program = run(["--config", file], { LOG_LEVEL: "info" });
  await until("the bridge runs", () => program.output().includes("chat-bridge-irc is running"));
  expect(await program.stop()).toBe(0);
  expect(program.output()).toContain('"msg":"stopped"');
});

test("a byte order mark at the beginning of the settings file is not part of the first setting", async () => {
  const file = join(folder, "windows.env");
  writeFileSync(file, "\uFEFFBASE_URL=http://127.0.0.1:1\r\nIRC_CHANNELS=games\r\n");
  const program = run(["--config", file]);
  await until("the faults are printed", () => program.output().includes("WORKSPACE_ID is missing"));
  expect(await program.exited).toBe(78);
  expect(program.output()).not.toMatch(/BASE_URL|IRC_CHANNELS/);
});

test("a signing secret with quotation marks around it stops the bridge, and the error names the character", async () => {
  const environment = { ...SETTINGS, IRC_CHANNELS: "games", SIGNING_SECRET: '"never-shown"' };
  const program = run([], environment);
  expect(await program.exited).toBe(1);
  expect(program.output()).toContain("a signing secret begins with a quotation mark (U+0022)");
  expect(program.output()).not.toContain("never-shown");
});

test.each(["--unknown", "inti"])(
  "for an unknown argument, the program prints a hint to use --help: %s",
  async (arg) => {
    const program = run([arg]);
    await until("the hint is printed", () =>
      program.output().includes("chat-bridge-irc --help lists the options."),
    );
    expect(await program.exited).toBe(64);
  },
);
