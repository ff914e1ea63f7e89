import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";
import { HOSTS, setUp, Unit } from "../harness/setup";
import { findSystemd } from "../programs/apt";

const folder = testFolder();
const UNITS = join(folder, "etc/systemd/system");
const names = (ending: string) =>
  readdirSync(join(ROOT, "deploy/systemd")).filter((name) => name.endsWith(ending));
/** The highest accepted exposure level of a unit, as `systemd-analyze security` reports it. */
const EXPOSURE_MAX = 1.9;

let analyze: string;

beforeAll(async () => {
  analyze = await findSystemd();
  expect(setUp(folder, [...HOSTS, "--yes"])).toMatchObject({ status: 0 });
  // systemd-analyze checks that the programs of the units exist on this machine.
  for (const name of names(".service")) {
    const file = join(UNITS, name);
    const text = readFileSync(file, "utf8");
    writeFileSync(
      file,
      text.replaceAll(/=\/usr\/(?:bin\/node|bin\/redis-server|sbin\/nft) /g, "=/bin/true "),
    );
  }
}, 300_000);

test.each([...names(".service"), ...names(".timer")])("systemd accepts %s without a warning", (name) => {
  const { status, stderr } = spawnSync(analyze, ["verify", join(UNITS, name)], { encoding: "utf8" });
  // The output may contain warnings about other units of this machine.
  const own = stderr.split("\n").filter((line) => line.includes("chat-bridge"));
  expect({ status, own }).toEqual({ status: 0, own: [] });
});

test.each(names(".service"))("the exposure of %s is below 2", (name) => {
  const { stdout, stderr } = spawnSync(analyze, ["security", "--offline=true", join(UNITS, name)], {
    encoding: "utf8",
  });
  const [, exposure] = /Overall exposure level for \S+: (\d+\.\d+)/.exec(stdout) ?? [];
  expect({ stderr, exposure: Number(exposure ?? 10) <= EXPOSURE_MAX }).toEqual({
    stderr: "",
    exposure: true,
  });
});

test.each(["core", "edge"])(
  "systemd always restarts %s, unless its arguments or settings are invalid",
  (name) => {
    const unit = new Unit(folder, `chat-bridge-${name}.service`);
    expect(unit.value("Restart")).toBe("always");
    expect(unit.value("RestartPreventExitStatus")).toBe("64 78");
    expect(unit.value("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
    expect(Number(unit.value("TimeoutStopSec"))).toBeGreaterThanOrEqual(15);
  },
);

test("each path of the release that a unit names exists in this repository or its build", () => {
  for (const name of names(".service")) {
    const text = readFileSync(join(ROOT, "deploy/systemd", name), "utf8");
    for (const [, path = ""] of text.matchAll(/\/opt\/chat-bridge\/current\/(\S+)/g)) {
      expect(spawnSync("test", ["-f", join(ROOT, path)]).status === 0 ? [] : [path]).toEqual([]);
    }
  }
});
