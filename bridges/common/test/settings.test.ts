import { writeFileSync } from "node:fs";
import { join } from "node:path";
import ipaddr from "ipaddr.js";
import { testFolder } from "../../../test/harness/folder";
import { readSettings, SettingsError } from "../../../runtime/settings";
import { settingsHelp } from "../help";
import {
  blocks,
  flag,
  hostPort,
  httpUrl,
  list,
  optionalSecret,
  secret,
  withSecretFiles,
  type SettingTable,
} from "../setting";

const folder = testFolder();

/** Reads the settings that a table declares. Returns their values, or their faults. */
function read(table: SettingTable, environment: Readonly<Record<string, string>>) {
  try {
    return readSettings(environment, (settings) =>
      Object.fromEntries(
        Object.entries(table).map(([name, setting]) => [name, setting.read(settings, name)]),
      ),
    );
  } catch (error) {
    if (error instanceof SettingsError) return error.faults;
    throw error;
  }
}

test.each([
  ["a URL without the slash at its end", { A: httpUrl("a URL") }, "https://a.example/", "https://a.example"],
  ["a switch", { A: flag("a switch", "off") }, "on", true],
  ["a list", { A: list("a list") }, "a, b,,c", ["a", "b", "c"]],
  ["an address", { A: hostPort("an address") }, "[::1]:80", { host: "::1", port: 80 }],
  [
    "blocks of addresses",
    { A: blocks("blocks") },
    "10.1.0.0/16, fd00::/8",
    ["10.1.0.0/16", "fd00::/8"].map((cidr) => ipaddr.parseCIDR(cidr)),
  ],
  ["no blocks", { A: blocks("blocks") }, "", []],
  ["no address", { A: hostPort("an address") }, "", undefined],
])("a setting is read: %s", (_what, table, text, value) => {
  expect(read(table, { A: text })).toEqual({ A: value, misspelled: [] });
});

test.each([
  ["no URL", { A: httpUrl("a URL") }, "ftp://a", "A must be an http or https URL: a URL"],
  ["a missing secret", { A: secret("a secret") }, "", "A is missing: a secret"],
  ["no switch", { A: flag("a switch", "off") }, "yes", "A is not a valid choice: one of on, off"],
])("an invalid setting is reported without its value: %s", (_what, table, text, fault) => {
  expect(read(table, { A: text })).toEqual([fault]);
});

test.each([
  ["a line break at its end", "from a file\r\n"],
  ["a byte order mark at its beginning", "\uFEFFfrom a file\r\n"],
])("the file of a secret can have %s, which the secret does not include", (_what, text) => {
  const path = join(folder, "secret");
  writeFileSync(path, text);
  const faults: string[] = [];
  const table = { A: secret("a secret"), B: optionalSecret("another"), C: list("no secret", "") };
  const environment = { A_FILE: path, B_FILE: join(folder, "nowhere"), C_FILE: path };
  const complete = withSecretFiles(table, environment, (line) => faults.push(line));
  expect([complete["A"], complete["C"]]).toEqual(["from a file", undefined]);
  expect(faults).toEqual([expect.stringMatching(/^B_FILE names a file that cannot be read/)]);
});

test("the help explains each setting, shows the setting's default, and wraps the lines", () => {
  const help = settingsHelp({ LONG_NAME: secret("words ".repeat(30).trim()), B: flag("a switch", "off") });
  for (const line of help.split("\n")) expect(line.length).toBeLessThanOrEqual(110);
  expect(help.replaceAll(/\s+/g, " ")).toContain("Or LONG_NAME_FILE: a file that contains it. Required.");
  expect(help).toContain("  B          a switch (on, off). Default: off");
});
