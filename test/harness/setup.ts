import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { ROOT } from "./compose-file";

const CLI_MAIN = join(ROOT, "dist/cli/main.js");

/** The options that `setup` requires: the host names for bridges and for the dashboard. */
export const HOSTS = ["--hooks", "hooks.example.com", "--dashboard", "games.example.com"] as const;

/** Runs `chat-bridge setup` with the folder `root` in place of the machine's root. */
export function setUp(
  root: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) {
  const words = [CLI_MAIN, "setup", "--root", root, ...args];
  const env = { PATH: process.env["PATH"], ...environment };
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", env });
  return { status, stdout, stderr };
}

/** Reads the command line and the settings of a systemd unit, and translates their paths to those of this machine. */
export class Unit {
  readonly #root: string;
  readonly #text: string;

  constructor(root: string, name: string) {
    this.#root = root;
    this.#text = readFileSync(join(root, "etc/systemd/system", name), "utf8");
  }

  /** Returns the last value of an entry in the unit file. */
  value(name: string): string {
    const values = [...this.#text.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))];
    return values.at(-1)?.[1] ?? "";
  }

  /** The unit's command line, which runs this repository with the tests' version of Node. */
  get command(): readonly [string, ...string[]] {
    const [program = "", ...args] = this.#located(this.value("ExecStart")).split(" ");
    return [program === "/usr/bin/node" ? process.execPath : program, ...args];
  }

  get environment(): Record<string, string> {
    const lines = [...this.#text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, all = ""]) => all.split(" "));
    const file = this.value("EnvironmentFile");
    const own = file === "" ? "" : readFileSync(this.#located(file), "utf8");
    return parseEnv(this.#located(`${lines.join("\n")}\n${own}`)) as Record<string, string>;
  }

  #located(text: string): string {
    return text
      .replaceAll("/opt/chat-bridge/current/", `${ROOT}/`)
      .replaceAll("/etc/chat-bridge/", `${this.#root}/etc/chat-bridge/`)
      .replaceAll("/var/lib/chat-bridge", `${this.#root}/var/lib/chat-bridge`);
  }
}
