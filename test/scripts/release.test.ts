import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";

const folder = testFolder();
const SCRIPT = join(ROOT, "scripts/release.mjs");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };

const FOLDERS = ["", "kit", "kit/game", "bridges/common", "bridges/irc", "bridges/matrix", "bridges/xmpp"];
const PACKAGES = FOLDERS.map((path) => join(path, "package.json"));

/** Runs the script in a folder. */
function release(cwd: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], {
    cwd,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

/** Replaces all occurrences of a string in a file of the copy. */
function change(path: string, from: string, to: string): void {
  const whole = readFileSync(join(folder, path), "utf8");
  expect(whole).toContain(from);
  writeFileSync(join(folder, path), whole.replaceAll(from, to));
}

beforeEach(() => {
  for (const path of PACKAGES) cpSync(join(ROOT, path), join(folder, path));
  const changelog = `# Changelog\n\n## Unreleased\n\nLater.\n\n## ${version}\n\nThe notes.\n\n- More.\n\n## 0.1.0\n\nOld.\n`;
  writeFileSync(join(folder, "CHANGELOG.md"), changelog);
});

test("all packages and the changelog of the repository have the same version", () => {
  expect(release(ROOT, `v${version}`)).toMatchObject({ status: 0, stderr: "" });
});

test.each([
  ["2.0.0-rc.1", "prerelease=true\nnpm-tag=next\n"],
  ["2.0.0", "prerelease=false\nnpm-tag=latest\n"],
])("the npm tag of the version %s is latest only if the version is not a prerelease", (next, printed) => {
  for (const path of [...PACKAGES, "CHANGELOG.md"]) change(path, version, next);
  const { stdout, stderr } = release(folder, `v${next}`);
  expect([stdout, stderr]).toEqual([`version=${next}\n${printed}`, ""]);
});

test("the notes of a release are its section of the changelog", () => {
  expect(release(folder, `v${version}`, "--notes").stdout).toBe("The notes.\n\n- More.\n");
});

test("a release is rejected if a package, a dependency or the changelog has a different version", () => {
  change("kit/package.json", `"version": "${version}"`, '"version": "0.9.0"');
  change("bridges/irc/package.json", `"chat-bridge-runner": "${version}"`, '"chat-bridge-runner": "0.9.0"');
  change("CHANGELOG.md", `## ${version}`, "## 3.0.0");
  const { status, stdout, stderr } = release(folder, `v${version}`);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr.trim().split("\n")).toEqual([
    `kit/package.json: version is 0.9.0, and must be ${version}`,
    `bridges/irc/package.json: the dependency chat-bridge-runner is 0.9.0, and must be ${version}`,
    `CHANGELOG.md: there is no section ${version}`,
  ]);
});

test.each(["1.0.0", "v1.0", "main", ""])("the tag %j is rejected", (tag) => {
  expect(release(folder, tag)).toMatchObject({ status: 1, stderr: expect.stringContaining("is not a tag") });
});
