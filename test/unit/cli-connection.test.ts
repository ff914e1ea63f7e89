import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cli } from "../../cli/cli";
import { readConnection } from "../../cli/core";

const TOKEN = "operator-token-of-24-chars";
const folder = mkdtempSync(join(tmpdir(), "cli-connection-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the path of a new file with this text. */
function fileWith(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** Returns the token that a command sends with these settings. */
function tokenWith(environment: NodeJS.ProcessEnv, tokenFile?: string): string {
  const cli = { environment, options: () => ({ tokenFile }) } as unknown as Cli;
  return readConnection("operator", cli).token;
}

test("CORE_TOKEN_FILE can name the settings file that npm start writes", () => {
  const settings = JSON.stringify({ tokens: { operator: TOKEN, edge: "x".repeat(5_000) } }, undefined, 2);
  expect(tokenWith({ CORE_TOKEN_FILE: fileWith("settings.json", settings) })).toBe(TOKEN);
});

test("with --token-file or CORE_TOKEN, a command does not read CORE_TOKEN_FILE, so that file may be unreadable", () => {
  const CORE_TOKEN_FILE = join(folder, "missing");
  expect(tokenWith({ CORE_TOKEN_FILE }, fileWith("token", `${TOKEN}\n`))).toBe(TOKEN);
  expect(tokenWith({ CORE_TOKEN_FILE, CORE_TOKEN: TOKEN })).toBe(TOKEN);
});
