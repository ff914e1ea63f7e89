import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../test/harness/folder";
import { startProgram } from "../../test/harness/program";

const root = testFolder();

/**
 * Creates a checkout in which the bridge is not compiled. The checkout's build creates a program that prints
 * `compiled`.
 */
function makeCheckout(name: string): string {
  const checkout = mkdtempSync(join(root, "checkout-"));
  const folders = {
    "chat-bridge-kit": "kit",
    "chat-bridge-runner": "bridges/common",
    [name]: bridgeFolder(name),
  };
  const workspaces = Object.values(folders);
  writeFileSync(join(checkout, "package.json"), JSON.stringify({ private: true, workspaces }));
  for (const [each, folder] of Object.entries(folders)) {
    mkdirSync(join(checkout, folder), { recursive: true });
    const build = "mkdir -p dist && echo 'console.log(`compiled`)' > dist/main.js";
    const text = JSON.stringify({ name: each, version: "1.0.0", scripts: { build } });
    writeFileSync(join(checkout, folder, "package.json"), text);
  }
  for (const file of ["compile.mjs", join(name.replace("chat-bridge-", ""), `${name}.mjs`)]) {
    cpSync(join(__dirname, "..", file), join(checkout, "bridges", file));
  }
  return checkout;
}

const bridgeFolder = (name: string): string => `bridges/${name.replace("chat-bridge-", "")}`;

async function run(checkout: string, name: string) {
  const script = join(checkout, bridgeFolder(name), `${name}.mjs`);
  const program = startProgram([process.execPath, script], { cwd: checkout, environment: {} });
  return { code: await program.exited, output: program.output() };
}

test.each(["chat-bridge-irc", "chat-bridge-matrix"])(
  "in a checkout, %s compiles itself once, and says what to do if the packages are not installed",
  async (name) => {
    const checkout = makeCheckout(name);
    const before = await run(checkout, name);
    expect([before.code, before.output]).toEqual([78, expect.stringContaining("run `npm ci`") as string]);
    mkdirSync(join(checkout, "node_modules/typescript"), { recursive: true });
    const first = await run(checkout, name);
    expect(first).toEqual({ code: 0, output: expect.stringMatching(/^compiling .*\ncompiled\n$/) as string });
    expect(await run(checkout, name)).toEqual({ code: 0, output: "compiled\n" });
  },
);
