import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { findShellcheck } from "../programs/apt";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";
import { installActionlint } from "../programs/go";

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Job {
  readonly "timeout-minutes"?: number;
  readonly uses?: string;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly unknown[]>> };
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
}
interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const FOLDER = join(ROOT, ".github/workflows");
const NAMES = readdirSync(FOLDER);
const textOf = (name: string): string => readFileSync(join(FOLDER, name), "utf8");
const read = (name: string): Workflow => parse(textOf(name)) as Workflow;

const folder = testFolder();

let shellcheck: string;
let actionlint: string;
beforeAll(async () => {
  shellcheck = await findShellcheck();
  actionlint = await installActionlint();
});

/** Runs actionlint on a file. Returns the faults, one per line, or "" if there are none. */
function lint(path: string): Promise<string> {
  const args = ["-oneline", "-no-color", "-pyflakes", "", "-shellcheck", shellcheck, path];
  return new Promise((resolve, reject) => {
    execFile(actionlint, args, { cwd: ROOT }, (error, stdout) => {
      // actionlint exits with 1 if the workflow has faults, and with a higher code if it could not read the workflow.
      if (error === null || error.code === 1) resolve(stdout);
      else reject(error);
    });
  });
}

test.each(NAMES)("actionlint and ShellCheck find no fault in the workflow %s", async (name) => {
  expect(await lint(join(FOLDER, name))).toBe("");
});

test("actionlint reports an unknown job and an unquoted variable in a changed workflow", async () => {
  const path = join(folder, "changed.yml");
  const text = textOf("release.yml").replace("needs: check\n", "needs: nobody\n");
  writeFileSync(path, text.replace('"$IMAGE@$DIGEST"', "$IMAGE@$DIGEST"));
  const faults = await lint(path);
  expect(faults).toMatch(/"nobody"/);
  expect(faults).toMatch(/SC2086/);
});

test.each(NAMES)("%s pins each action to a commit, and names the release of the action", (name) => {
  const uses = textOf(name).match(/uses: .*/g) ?? [];
  const actions = uses.filter((line) => !line.startsWith("uses: ./"));
  expect(actions.length).toBeGreaterThan(2);
  for (const line of actions) expect(line).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test.each(NAMES)(
  "%s has only read access to the repository by default, and every job has a timeout",
  (name) => {
    const { permissions, jobs } = read(name);
    expect(permissions).toEqual({ contents: "read" });
    for (const job of Object.values(jobs)) {
      if (job.uses === undefined) expect(job["timeout-minutes"]).toBeLessThanOrEqual(60);
    }
  },
);

test("CI runs on the Node releases that the README names, and runs all suites", () => {
  const { jobs } = read("ci.yml");
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const nodes = jobs["test"]?.strategy?.matrix["node"] ?? [];
  expect(nodes).toEqual([20, 22, 24, 26]);
  for (const node of nodes) expect(readme).toMatch(new RegExp(`Node .*\\b${String(node)}\\b`));
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };
  const suites = jobs["suite"]?.strategy?.matrix["suite"] ?? [];
  // CI has no Kubernetes cluster, so it does not run the tests that need one.
  const named = Object.keys(scripts).filter((each) => /^test:(?!all|kubernetes)/.test(each));
  expect(suites.map((suite) => `test:${String(suite)}`).toSorted()).toEqual(named.toSorted());
});

test("a release publishes each package of the repository that is not private", () => {
  const steps = read("release.yml").jobs["packages"]?.steps ?? [];
  const publish = steps.map(({ run = "" }) => run).find((run) => run.includes("npm publish")) ?? "";
  const [, published = ""] = /for folder in (.*); do/.exec(publish) ?? [];
  const isPublic = (path: string) => {
    const file = join(ROOT, path, "package.json");
    const text = existsSync(file) ? readFileSync(file, "utf8") : '{ "private": true }';
    return (JSON.parse(text) as { private?: boolean }).private !== true;
  };
  const bridges = readdirSync(join(ROOT, "bridges")).map((name) => `bridges/${name}`);
  expect(new Set(published.split(" "))).toEqual(new Set(["kit", "kit/game", ...bridges].filter(isPublic)));
});

test("the only secret of the repository that workflows use is the npm token", () => {
  const secrets = NAMES.flatMap((name) => textOf(name).match(/\bsecrets\.\w+/g) ?? []);
  expect(secrets).toEqual(["secrets.NPM_TOKEN"]);
});
