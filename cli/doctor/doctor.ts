import { InvalidArgumentError } from "commander";
import type { Cli, CliCommand } from "../cli";
import { painted, type Line } from "../colour";
import { readConnection, tokenPath } from "../core";
import { EXIT } from "../exit-code";
import { CliFailure } from "../failure";
import { tableLines } from "../table";
import { checkAddresses } from "./check-addresses";
import { checkCores } from "./check-cores";
import { checkDashboard, checkEdge } from "./check-web";
import { skipped, type Finding, type Result } from "./finding";
import { checkTokenFile } from "./token-file";
import { ALL_MS, within } from "./within";

interface DoctorOptions {
  readonly url?: URL;
  readonly dashboard?: URL;
  readonly ca?: string;
  readonly backupEvery: number;
}

/** `chat-bridge doctor` checks an installation from outside. */
export function addDoctor(program: CliCommand, cli: Cli): void {
  program
    .command("doctor")
    .description("check an installation: core, Redis, TLS, clocks, tokens, backups, the address for bridges")
    .option("--url <url>", "address of the service for bridges, as in BASE_URL or PUBLIC_URL", parseUrl)
    .option("--dashboard <url>", "address of the dashboard, as in DASHBOARD_URL", parseUrl)
    .option("--ca <file>", "PEM certificate of an authority to trust for --url and --dashboard")
    .option("--backup-every <hours>", "hours between two backups", parseHours, 24)
    .moreHelp(`
Prints one line for each check: ok, warn or fail with what to do, or skipped with the reason. All checks together take
at most 15 seconds, and change nothing. The exit code is 1 if a check fails.

CORE_ADDRESS=dns:///<name>:<port> checks every core that the name leads to.

Examples:
  $ chat-bridge doctor
  $ chat-bridge doctor --url https://hooks.example --dashboard https://games.example
  $ chat-bridge doctor --json | jq -r 'select(.result == "fail").says'`)
    .action((options: DoctorOptions) => examine(cli, options));
}

async function examine(cli: Cli, options: DoctorOptions): Promise<void> {
  const connection = readConnection("operator", cli);
  const ca = options.ca === undefined ? undefined : await cli.terminal.read(options.ca);
  const {
    url = urlFrom(cli.environment, "BASE_URL", "PUBLIC_URL"),
    dashboard = urlFrom(cli.environment, "DASHBOARD_URL"),
    backupEvery,
  } = options;
  const checks: readonly (readonly [name: string, Promise<readonly Finding[]>])[] = [
    ["token-file", checkTokenFile(tokenPath(cli)).then((found) => [found])],
    ["core", checkCores(connection, backupEvery)],
    ["edge", url === undefined ? without("edge", "--url or BASE_URL") : checkEdge({ url, ca })],
    ["edge-address", url === undefined ? none() : checkAddresses(connection, url).then((found) => [found])],
    [
      "dashboard",
      dashboard === undefined
        ? without("dashboard", "--dashboard or DASHBOARD_URL")
        : checkDashboard({ url: dashboard, ca }),
    ],
  ];
  const late = (name: string) => [skipped(name, `there was no result within ${ALL_MS / 1_000} seconds`)];
  const bounded = checks.map(([name, check]) => within(ALL_MS, check, () => late(name)));
  const findings = (await Promise.all(bounded)).flat();
  if (cli.options().json === true) {
    for (const finding of findings) cli.terminal.printJson(finding);
  } else {
    cli.terminal.print(...toLines(findings), "", summary(findings));
  }
  if (findings.some(({ result }) => result === "fail")) cli.endWith(EXIT.NO);
}

const none = async (): Promise<readonly Finding[]> => [];

async function without(check: string, setting: string): Promise<readonly Finding[]> {
  return [skipped(check, `the address is unknown: give ${setting}`)];
}

const LOOKS = { ok: "good", warn: "warning", fail: "bad", skipped: "dim" } as const;

function toLines(findings: readonly Finding[]): readonly Line[] {
  return tableLines(
    ["result", "check", "finding"],
    findings.map(({ check, result, says, fix, page }) => [
      painted(LOOKS[result], result),
      check,
      fix === undefined ? says : `${says}. To do: ${fix} (${page})`,
    ]),
  );
}

/** Returns e.g. "28 checks: 26 ok, 1 warn, 1 skipped". */
function summary(findings: readonly Finding[]): string {
  const count = (wanted: Result): number => findings.filter(({ result }) => result === wanted).length;
  const parts = (Object.keys(LOOKS) as Result[]).filter((result) => count(result) > 0);
  return `${findings.length} checks: ${parts.map((result) => `${count(result)} ${result}`).join(", ")}`;
}

/** Returns the URL from the first of these environment variables that is set. Throws a `CliFailure`. */
function urlFrom(environment: Cli["environment"], ...names: readonly string[]): URL | undefined {
  const name = names.find((each) => environment[each]);
  if (name === undefined) return undefined;
  const url = toUrl(environment[name] ?? "");
  if (url === undefined) throw new CliFailure(EXIT.SETTINGS, `${name} ${NOT_URL}`);
  return url;
}

const NOT_URL = "must be an http or https URL without a user name, query and fragment";

function parseUrl(text: string): URL {
  const url = toUrl(text);
  if (url === undefined) throw new InvalidArgumentError(`It ${NOT_URL}.`);
  return url;
}

function toUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBase = url !== undefined && /^https?:$/.test(url.protocol);
  return isBase && !url.username && !url.search && !url.hash ? url : undefined;
}

function parseHours(text: string): number {
  const hours = Number(text);
  if (!(hours > 0 && hours <= 8_760)) throw new InvalidArgumentError("It must be a number of hours.");
  return hours;
}
