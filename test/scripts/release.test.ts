import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";

const folder = testFolder();
const SCRIPT = join(ROOT, "scripts/release.mjs");
const BEFORE = "test/upgrade/release-before.json";
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

test("all packages, the guides and the changelog name the same version, which has not been released", () => {
  expect(release(ROOT, "--check")).toEqual({ status: 0, stdout: "", stderr: "" });
});

test("package.json in the previous release's commit has the version of that release", () => {
  const before = JSON.parse(readFileSync(join(ROOT, BEFORE), "utf8")) as { version: string; commit: string };
  const file = `${before.commit}:package.json`;
  const { status, stdout } = spawnSync("git", ["show", file], { cwd: ROOT, encoding: "utf8" });
  // A clone without the whole history may lack the commit.
  if (status === 0) expect(JSON.parse(stdout)).toMatchObject({ version: before.version });
  expect(before.commit).toMatch(/^[0-9a-f]{40}$/);
});

describe("after a release", () => {
  const HEADINGS = "# Changelog\n\n## 1.1.0-rc.10 (unreleased)\n\nNew.\n\n## 1.1.0-rc.9\n\nOld.\n";

  /** Writes the versions of the previous and of the next release to the copy, and checks the copy. */
  function checkAfter(before: string, next: string) {
    for (const path of PACKAGES) change(path, version, next);
    writeFileSync(join(folder, "CHANGELOG.md"), HEADINGS.replaceAll("1.1.0-rc.10", next));
    mkdirSync(join(folder, "test/upgrade"), { recursive: true });
    writeFileSync(join(folder, BEFORE), JSON.stringify({ version: before }));
    return release(folder, "--check");
  }

  afterEach(() => rmSync(join(folder, BEFORE)));

  test.each(["1.1.0-rc.10", "1.1.0", "1.2.0-beta.1"])("the version %s is later than 1.1.0-rc.9", (next) => {
    expect(checkAfter("1.1.0-rc.9", next)).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test.each(["1.1.0-rc.9", "1.1.0-rc.8", "1.1.0-beta.10", "1.0.9"])(
    "the version %s is rejected, because it is not later than 1.1.0-rc.9",
    (next) => {
      const { status, stderr } = checkAfter("1.1.0-rc.9", next);
      expect([status, stderr]).toEqual([1, expect.stringContaining("must be later than 1.1.0-rc.9")]);
    },
  );

  test("a changelog without the previous release is rejected", () => {
    const { status, stderr } = checkAfter("1.1.0-rc.8", "1.1.0");
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining("the section after 1.1.0 must be 1.1.0-rc.8"),
    ]);
  });

  test("a tag is rejected while the changelog calls the version unreleased", () => {
    checkAfter("1.1.0-rc.9", "1.1.0");
    expect(release(folder, "v1.1.0")).toEqual({
      status: 1,
      stdout: "",
      stderr: 'CHANGELOG.md: remove "(unreleased)" from the heading of 1.1.0\n',
    });
  });
});

test("a template or a guide that names another version is rejected", () => {
  const template = { dependencies: { "chat-bridge-kit": "^0.9.0" } };
  mkdirSync(join(folder, "kit/template"), { recursive: true });
  writeFileSync(join(folder, "kit/template/package.json"), JSON.stringify(template));
  writeFileSync(join(folder, "kit/README.md"), "npm install ./chat-bridge-kit-0.9.0-rc.1.tgz\n");
  const { status, stderr } = release(folder, "--check");
  rmSync(join(folder, "kit/template"), { recursive: true });
  rmSync(join(folder, "kit/README.md"));
  expect([status, stderr.trim().split("\n")]).toEqual([
    1,
    [
      `kit/template/package.json: the dependency chat-bridge-kit is ^0.9.0, and must be ^${version}`,
      `kit/README.md: the version of chat-bridge-kit is 0.9.0-rc.1, and must be ${version}`,
    ],
  ]);
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
