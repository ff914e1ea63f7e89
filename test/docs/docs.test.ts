import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { status } from "@grpc/grpc-js";
import type { Command } from "commander";
import { EXIT_CODE_WORDS } from "../../cli/exit-code";
import { PROGRAM, runCli } from "../harness/cli";
import { COMPOSE_VARIABLES, readComposeFile, ROOT } from "../harness/compose-file";

function git(...patterns: readonly string[]): readonly string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns];
  const listed = execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).split("\n");
  return listed.filter((path) => path !== "" && existsSync(join(ROOT, path)));
}

/** All Markdown pages, each with its text, its text without fenced blocks (`prose`), and its fenced blocks. */
const pages = git("*.md").map((path) => {
  const text = readFileSync(join(ROOT, path), "utf8");
  const fenced = /^```.*?^```$/gms;
  return { path, text, prose: text.replaceAll(fenced, ""), blocks: (text.match(fenced) ?? []).join("\n") };
});
type Page = (typeof pages)[number];
const eachPage = pages.map((page) => [page.path, page] as const);

/** Returns the distinct strings that the first capture group of a pattern matches on all pages, sorted. */
function named(form: RegExp, of: (page: Page) => string = ({ text }) => text): readonly string[] {
  const found = pages.flatMap((page) => [...of(page).matchAll(form)].map(([, name = ""]) => name));
  return [...new Set(found)].toSorted();
}

const kinds = ["*.ts", "*.tsx", "*.mjs", "*.proto", "*.lua", "*.yml"];
const sources = git(...kinds).filter((path) => !/^(?:bridge\/)?test\//.test(path));
const source = (folders: RegExp): string =>
  sources.flatMap((path) => (folders.test(path) ? [readFileSync(join(ROOT, path), "utf8")] : [])).join("\n");

describe("links:", () => {
  test("no page has a dead link", () => {
    const check = ["docs/site/build.mjs", "--check"];
    const { status: code, stderr } = spawnSync(process.execPath, check, { cwd: ROOT, encoding: "utf8" });
    const broken = stderr.split("\n").filter((line) => line !== "");
    if (code !== 0) broken.push(`exit code ${code}`);
    expect(broken).toEqual([]);
  });

  test("every section of the bridge guide or the event reference that a comment cites exists", () => {
    const cited = { "bridge guide": "docs/bridge-guide.md", "event reference": "docs/events.md" };
    // A citation may continue on the next line of a comment.
    const comments = source(/^(?!test\/)/).replaceAll(/\n\s*(?:\*|\/\/|--)\s*/g, " ");
    const headings = Object.entries(cited).map(([name, path]) => {
      const { text = "" } = pages.find((page) => page.path === path) ?? {};
      return [name, [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading)] as const;
    });
    for (const [name, existing] of headings) {
      const names = [...comments.matchAll(new RegExp(`${name}, "([^"]+)"`, "g"))].map(([, each]) => each);
      expect(names.length).toBeGreaterThan(3);
      expect(names.filter((each) => !existing.includes(each))).toEqual([]);
    }
    expect(comments.match(/\b(?:contract,|sections?) "[A-Z]\w+/g)).toBeNull();
  });

  test("every page outside test/ can be reached from README.md by links", () => {
    const seen = new Set<string>(["README.md"]);
    for (const path of seen) {
      const { prose = "" } = pages.find((page) => page.path === path) ?? {};
      for (const [, link = ""] of prose.matchAll(/\]\(([^)\s#]+)/g)) {
        const target = relative(ROOT, join(ROOT, dirname(path), link));
        if (target.endsWith(".md")) seen.add(target);
      }
    }
    const all = pages.map(({ path }) => path).filter((path) => !path.startsWith("test/"));
    expect(all.filter((path) => !seen.has(path))).toEqual([]);
  });
});

/** Files that a page tells its readers to create. */
const MADE_BY_READERS: ReadonlySet<string> = new Set(["demo/dice.ts", "dist/demo/dice.js"]);

test.each(eachPage)("%s names only existing files", (path, { prose }) => {
  const roots = readdirSync(ROOT);
  const codes = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  const paths = codes.filter((code) => /^(?:\.\.?\/)*[\w.-]+\/[\w./{},*-]*[\w/*}]$/.test(code));
  const missing = paths.filter((code) => {
    const [first = ""] = code.split("/");
    const plain = code.replace(/[{*].*$/, "");
    if (!roots.includes(first) || first === "dist" || MADE_BY_READERS.has(plain)) return false;
    return !existsSync(join(ROOT, plain)) && !existsSync(join(ROOT, dirname(path), plain));
  });
  expect(missing).toEqual([]);
});

const cliSettings = [...source(/^cli\//).matchAll(/^ {2}([A-Z]+_[A-Z_]+)(?:, ([A-Z_]+))? {2,}/gm)].flatMap(
  ([, ...names]) => names.filter((name) => name !== undefined),
);

describe("settings:", () => {
  const table = (option: string) =>
    spawnSync(process.execPath, ["scripts/settings-table.mjs", option], { cwd: ROOT, encoding: "utf8" });

  test("the tables of docs/settings.md list exactly the settings that programs read", () => {
    const { status: code, stderr } = table("--check");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("every setting named on a page exists", () => {
    const settings = table("--list").stdout.split("\n");
    expect(settings).toContain("REDIS_URL");
    const known = [...settings, ...cliSettings, ...Object.keys(COMPOSE_VARIABLES), ...Object.keys(status)];
    const workflow = readFileSync(join(ROOT, ".github/workflows/release.yml"), "utf8");
    known.push(...[...workflow.matchAll(/\bsecrets\.(\w+)/g)].map(([, name = ""]) => name));
    const constants = new Set(source(/\.(?:proto|ts)$/).match(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g));
    for (const { path, prose, blocks } of pages) {
      const found = [...prose.matchAll(/`([A-Z][A-Z0-9]*_[A-Z0-9_]+)(?:=[^`]*)?`/g)];
      const names = found.map(([, name = ""]) => name);
      const isKnown = (name: string) => known.includes(name) || constants.has(name) || blocks.includes(name);
      const unknown = names.filter((name) => !isKnown(name));
      expect({ path, unknown }).toEqual({ path, unknown: [] });
    }
  });
});

describe("commands", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };

  test("every npm script named on a page exists", () => {
    const names = named(/npm (?:run (?:--silent )?|(?=(?:start|test)\b))([a-z][a-z:-]*)/g);
    expect(names).toEqual(expect.arrayContaining(["start", "check", "settings-table"]));
    expect(names.filter((name) => !(name in scripts))).toEqual([]);
  });

  test("every program in a command on a page exists in dist", () => {
    const programs = named(/node (?:--\S+ )*(dist\/[\w/-]+\.js)/g);
    expect(programs.length).toBeGreaterThan(2);
    const isThere = (path: string): boolean => MADE_BY_READERS.has(path) || existsSync(join(ROOT, path));
    expect(programs.filter((path) => !isThere(path))).toEqual([]);
  });

  test("every npx command on a page is installed, or belongs to the kit or to this package", () => {
    const [kit, own] = ["kit/package.json", "package.json"].map(
      (path) => JSON.parse(readFileSync(join(ROOT, path), "utf8")) as { bin?: object },
    );
    const names = named(/npx (?:--no-install )?([a-z][a-z-]*)/g);
    expect(names).toContain("buf");
    const installed = (name: string) => existsSync(join(ROOT, "node_modules/.bin", name));
    expect(names.filter((name) => !installed(name) && !(name in { ...kit?.bin, ...own?.bin }))).toEqual([]);
  });

  test("every chat-bridge command named on a page exists", async () => {
    const form = /chat-bridge ((?:workspace|tail) [a-z-]+|listen|sign|verify|publish|send-test)\b/g;
    const names = named(form);
    expect(names).toContain("workspace rotate");
    for (const name of names) {
      expect((await runCli(`${name} --help`)).stdout).toContain(`Usage: chat-bridge ${name} `);
    }
  });

  test("every container in a command on a page is in docker-compose.yml", () => {
    const services = Object.keys(readComposeFile().services);
    const lists = named(/docker compose (?:run --rm|restart|up) ((?:(?:--[a-z]+(?: \w+=\d+)?|[a-z]+) ?)+)/g);
    const names = lists.flatMap((list) =>
      /^(?:operator|cli|backup|restore)/.test(list) ? [list.split(" ")[0] ?? ""] : list.split(" "),
    );
    const plain = names.filter((name) => /^[a-z]+$/.test(name));
    expect(plain).toEqual(expect.arrayContaining(["operator", "cli", "core"]));
    expect(plain.filter((name) => !services.includes(name))).toEqual([]);
  });
});

describe("calls", () => {
  const protos = source(/\.proto$/);
  const rpcs = [...protos.matchAll(/^service (\w+) \{(.*?)^\}/gms)].flatMap(([, service = "", body = ""]) =>
    [...body.matchAll(/^ {2}rpc (\w+)/gm)].map(([, rpc = ""]) => `${service}/${rpc}`),
  );

  test("every RPC named on a page exists", () => {
    const full = named(/((?:Bridge|Game|Workspace)Service\/[A-Z]\w+)/g);
    expect(full).toContain("GameService/Follow");
    expect(full.filter((name) => !rpcs.includes(name))).toEqual([]);
    const verbs = "Create|Get|List|Update|Connect|Disconnect|Delete|Rotate|Set|Send|Watch|Publish";
    const short = named(new RegExp(`\`((?:${verbs})[A-Z]\\w+)\``, "g"));
    expect(short).toContain("ListDeliveries");
    expect(short.filter((name) => !rpcs.some((rpc) => rpc.endsWith(`/${name}`)))).toEqual([]);
  });

  test("every HTTP endpoint named on a page exists", () => {
    const served = source(/^(?:edge|runtime|local|demo\/chat\/(?:server|wire))\//);
    const paths = named(
      /`(?:(?:GET|POST|PUT|DELETE) )?(\/(?:hooks|api|live|ready|metrics|target-url|docs|openapi)[^\s`]*)`|(?:GET|POST|PUT|DELETE) (\/[^\s`]*)/g,
      ({ prose }) => prose.replaceAll(/`(?:GET|POST|PUT|DELETE) /g, "`"),
    );
    expect(paths).toEqual(expect.arrayContaining(["/hooks/{workspaceId}", "/ready", "/metrics"]));
    const missing = paths.filter((path) => {
      const plain = path.replace(/\?.*$|^\/api(?=\/)/g, "").replaceAll(/\{(\w+)\}/g, ":$1");
      return !served.includes(`"${plain}"`);
    });
    expect(missing).toEqual([]);
  });
});

test("docs/cli.md lists all settings, commands and global options of the command line, and describes exit codes as --help does", () => {
  const { text = "" } = pages.find(({ path }) => path === "docs/cli.md") ?? {};
  expect(cliSettings.length).toBeGreaterThan(3);
  for (const name of cliSettings) expect(text).toContain(`\`${name}\``);
  for (const [code, words] of Object.entries(EXIT_CODE_WORDS)) {
    const row = text.split("\n").find((line) => line.startsWith(`| ${code} `));
    expect(row?.split("|")[2]?.trim()).toBe(words);
  }
  const leaves = (command: Command): readonly Command[] =>
    command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
  for (const command of leaves(PROGRAM)) {
    expect(text).toMatch(new RegExp(`^\\|.*\\b${command.name()}\\b.*\\| (operator|game|none) `, "m"));
  }
  const options = PROGRAM.createHelp().visibleOptions(PROGRAM);
  for (const { long = "" } of options) if (long !== "--help") expect(text).toContain(`\`${long}`);
});
