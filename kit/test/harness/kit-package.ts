import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../../test/harness/folder";
import { startProgram } from "../../../test/harness/program";

const PROJECT = join(__dirname, "../../..");

/**
 * Installs the packed kit and its dependencies in an empty project. The package is the one that `shareKit` has packed for
 * all test files.
 */
export function packedKit() {
  const archive = process.env["KIT_PACKAGE"];
  if (archive === undefined) throw new Error("the kit is not packed: see test/harness/global-setup.ts");
  const folder = testFolder();
  const installed = join(folder, "node_modules/chat-bridge-kit");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", archive, "-C", installed, "--strip-components=1"]);
  const { dependencies = {} } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    dependencies?: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(dependencies)) {
    symlinkSync(join(PROJECT, "node_modules", name), join(folder, "node_modules", name));
  }
  const readme = readFileSync(join(installed, "README.md"), "utf8");

  return {
    folder,
    readme,
    /** Compiles the README's examples, and returns the names of the compiled files. */
    compileExamples: () => compileExamples(folder, readme),
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
