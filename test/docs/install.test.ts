import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../harness/compose-file";
import { docBlocks } from "../harness/doc-blocks";
import { testFolder } from "../harness/folder";
import { testWith } from "../harness/installed";

const PAGE = "docs/install.md";
const [UNIT = ""] = docBlocks(PAGE, "ini");
const folder = testFolder();

testWith(["systemd-analyze", "--version"])(
  "systemd accepts the unit of core, and the unit of the edge that is made from it",
  () => {
    expect(UNIT.split("core")).toHaveLength(5);
    for (const name of ["core", "edge"]) {
      const file = join(folder, `chat-bridge-${name}.service`);
      writeFileSync(file, UNIT.replaceAll("core", name).replace("/usr/bin/node", process.execPath));
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
      expect([status, stderr.includes(file)]).toEqual([0, false]);
    }
  },
);

testWith(["openssl", "version"])("the settings of core and of the edge exist, and their tokens fit", () => {
  const block = docBlocks(PAGE, "sh").find((each) => each.includes("core.env")) ?? "";
  const script = block.slice(block.indexOf("edge=")).replaceAll("/etc/chat-bridge", folder);
  mkdirSync(folder, { recursive: true });
  execFileSync("sh", ["-e", "-c", script]);
  const settingsOf = (name: string) =>
    new Map(
      readFileSync(join(folder, `${name}.env`), "utf8")
        .trim()
        .split("\n")
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const),
    );
  const [core, edge] = [settingsOf("core"), settingsOf("edge")];
  expect(core.get("CORE_TOKENS")?.split(",")).toContain(`edge=${edge.get("CORE_TOKEN")}`);
  expect(core.get("SECRETS_KEY")).toMatch(/^[0-9a-f]{64}$/);
  const page = readFileSync(join(ROOT, "docs/settings.md"), "utf8");
  expect([...core.keys(), ...edge.keys()].filter((name) => !page.includes(`| \`${name}\``))).toEqual([]);
});
