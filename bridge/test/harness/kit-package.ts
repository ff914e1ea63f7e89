import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../../test/harness/folder";
import { startProgram } from "../../../test/harness/program";

const PROJECT = join(__dirname, "../../..");

/** Packs the kit as `npm publish` would, and installs the package and its dependencies in an empty project. */
export function packKit() {
  const folder = testFolder();
  const installed = join(folder, "node_modules/chat-bridge-kit");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", pack(folder), "-C", installed, "--strip-components=1"]);
  const { dependencies = {} } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    dependencies?: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(dependencies)) {
    symlinkSync(join(PROJECT, "node_modules", name), join(folder, "node_modules", name));
  }
  const readme = readFileSync(join(installed, "README.md"), "utf8");
  const examples = compileExamples(folder, readme);

  return {
    folder,
    readme,
    examples,
    start: (example: `${string}.mjs`, environment: Record<string, string>) =>
      startProgram([process.execPath, example], { cwd: folder, environment }),
  };
}

/** Strict compiler options, so that the examples compile in strict projects too. */
const STRICT = {
  module: "nodenext",
  target: "es2022",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  types: ["node"],
  typeRoots: [join(PROJECT, "node_modules/@types")],
};

/**
 * Compiles the README's TypeScript examples. The first line of an example can be a comment with the name of its file.
 * Throws an error with tsc's output if an example does not compile.
 */
function compileExamples(folder: string, readme: string): readonly string[] {
  const files = [...readme.matchAll(/^```ts\n(?:\/\/ (\S+\.mts)\n)?(.*?)^```/gms)].map(
    ([, name, code = ""], i) => {
      const file = name ?? `example-${i}.mts`;
      writeFileSync(join(folder, file), code);
      return file;
    },
  );
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: STRICT, files }));
  const { status, stdout } = spawnSync(join(PROJECT, "node_modules/.bin/tsc"), ["-p", folder], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the README's examples do not compile:\n${stdout}`);
  return files;
}

/**
 * Creates a project in `folder` with the kit's sources and `cli/chat-bridge.mjs`, but without build output. Returns the
 * project's path.
 */
export function unbuiltProject(folder: string): string {
  const project = join(folder, "project");
  const built = join(PROJECT, "bridge/dist");
  cpSync(join(PROJECT, "bridge"), join(project, "bridge"), {
    recursive: true,
    filter: (path) => path !== built,
  });
  for (const file of ["package.json", "tsconfig.json", "LICENSE", "cli/chat-bridge.mjs"]) {
    cpSync(join(PROJECT, file), join(project, file));
  }
  symlinkSync(join(PROJECT, "node_modules"), join(project, "node_modules"));
  return project;
}

/**
 * Packs the kit into a folder, and returns the path of the archive. Packs a copy of the sources, because npm builds in
 * place before it packs. Otherwise, concurrent test files would build in the same folder.
 */
function pack(folder: string): string {
  const project = unbuiltProject(folder);
  const bridge = join(project, "bridge");
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: bridge, stdio: "pipe" });
  const { version } = JSON.parse(readFileSync(join(bridge, "package.json"), "utf8")) as { version: string };
  rmSync(project, { recursive: true });
  return join(folder, `chat-bridge-kit-${version}.tgz`);
}
