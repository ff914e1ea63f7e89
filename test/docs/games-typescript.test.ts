import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packedGameKit } from "../../kit/game/test/harness/game-kit-package";
import { parse } from "yaml";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { installKubernetesValidate } from "../programs/pypi";

const PAGE = "docs/games/typescript.md";
const ROOT = join(__dirname, "../..");
const FILES = ["src/game.ts", "src/main.ts", "test/game.test.ts"] as const;
const template = (path: string): string => readFileSync(join(ROOT, "kit/game/template", path), "utf8");
const kit = packedGameKit();

test("the page's game compiles, and its test passes as printed", () => {
  const folder = join(kit.folder, "page");
  for (const path of FILES) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), docProgram(PAGE, "ts", path));
  }
  for (const path of ["package.json", "tsconfig.json"]) writeFileSync(join(folder, path), template(path));
  symlinkSync(join(ROOT, "node_modules/@types"), join(kit.folder, "node_modules/@types"));
  execFileSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", folder], { stdio: "pipe" });
  const options = { cwd: folder, encoding: "utf8" } as const;
  expect(execFileSync("sh", ["-c", "node --test dist/test/*.test.js"], options)).toContain("# pass 2");
});

test("the page's game has at most 30 lines after its import, and no line is longer than 100 characters", () => {
  const lines = docProgram(PAGE, "ts", "src/game.ts").split("\n");
  const code = lines.filter((line) => line !== "" && !/^(?:\/\/|import )/.test(line));
  expect(code.length).toBeLessThanOrEqual(30);
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});

test.each(FILES)("the page shows %s of the template", (path) => {
  expect(docProgram(PAGE, "ts", path)).toBe(template(path));
});

test("the Dockerfile on the page is that of the template", () => {
  expect(docBlocks(PAGE, "dockerfile")).toEqual([template("Dockerfile")]);
});

test("the page's Deployment follows the schemas of Kubernetes", async () => {
  const file = join(kit.folder, "word.yaml");
  writeFileSync(file, docProgram(PAGE, "yaml", "word.yaml"));
  const python = await installKubernetesValidate();
  const args = ["-m", "kubernetes_validate", "--strict", "--quiet", "-k", "1.37", file];
  expect(execFileSync(python, args, { encoding: "utf8" })).toBe("");
});

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly env: readonly { readonly name: string }[] }[];
      };
    };
  };
}
interface Compose {
  readonly services: Readonly<Record<"word", { readonly environment: Readonly<Record<string, string>> }>>;
}

test("every variable in the page's files for Kubernetes and Docker Compose is a setting of the kit", () => {
  const deployment = parse(docProgram(PAGE, "yaml", "word.yaml")) as Deployment;
  const compose = parse(docProgram(PAGE, "yaml", "compose.yaml")) as Compose;
  const names = [
    ...deployment.spec.template.spec.containers.flatMap(({ env }) => env.map(({ name }) => name)),
    ...Object.keys(compose.services.word.environment),
  ];
  expect(names.length).toBeGreaterThan(6);
  const readme = readFileSync(join(ROOT, "kit/game/README.md"), "utf8");
  expect(names.filter((name) => !readme.includes(`| \`${name}\``))).toEqual([]);
});
