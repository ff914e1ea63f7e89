import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { UUID_FORM } from "../../contract/forms";
import { secretFault } from "../secret-form";
import { isLoopback } from "./http-client";
import type { PollerCheckOptions } from "./poll/check-poller";
import type { ListenAddress } from "./poll/fake-service";
import type { BridgeCheckOptions } from "./push/check-bridge";
import { MODE_WORDS, type CheckMode } from "./result";
import { unknownRules } from "./rule";
import { RULES } from "./rules";
import type { ServiceCheckOptions } from "./service/check-service";

/** The parsed command line, or all its faults. */
export type Command =
  | { readonly is: "help" }
  | { readonly is: "version" }
  | { readonly is: "list"; readonly of: readonly CheckMode[] }
  | { readonly is: "bridge"; readonly options: BridgeCheckOptions; readonly json: boolean }
  | { readonly is: "poller"; readonly options: PollerCheckOptions; readonly json: boolean }
  | { readonly is: "service"; readonly options: ServiceCheckOptions; readonly json: boolean }
  | { readonly is: "wrong"; readonly faults: readonly string[] };

const OPTIONS = {
  url: { type: "string" },
  poll: { type: "boolean" },
  service: { type: "string" },
  secret: { type: "string", multiple: true },
  observe: { type: "string" },
  workspace: { type: "string" },
  channel: { type: "string" },
  user: { type: "string" },
  "answer-within": { type: "string" },
  within: { type: "string" },
  listen: { type: "string" },
  wait: { type: "string" },
  limits: { type: "boolean" },
  only: { type: "string", multiple: true },
  list: { type: "boolean" },
  json: { type: "boolean" },
  ca: { type: "string" },
  "insecure-loopback": { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];
/**
 * Records a fault. Returns undefined, so that callers can return the result in place of a value that they could not
 * read.
 */
type Fault = (what: string) => undefined;

/** For each option that only some modes support: those modes. */
const MODES_OF: Readonly<Partial<Record<keyof Values, readonly CheckMode[]>>> = {
  observe: ["bridge", "poller"],
  channel: ["bridge", "poller"],
  user: ["bridge", "poller"],
  within: ["bridge", "poller"],
  "answer-within": ["bridge"],
  listen: ["poller"],
  wait: ["poller"],
  limits: ["service"],
};
/** The option that selects each mode. */
const SELECTS = { bridge: "url", poller: "poll", service: "service" } as const;
const ALL_MODES: readonly CheckMode[] = ["bridge", "poller", "service"];
const EITHER =
  "give one of --url, for a bridge that receives pushes, --poll, for a bridge that polls, and --service, for the service";
const LISTEN_BY_DEFAULT = "127.0.0.1:9100";

export function readCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  let values: Values;
  try {
    ({ values } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: false }));
  } catch (error) {
    return { is: "wrong", faults: [error instanceof Error ? error.message : String(error)] };
  }
  if (values.help === true || args.length === 0) return { is: "help" };
  if (values.version === true) return { is: "version" };
  const given = ALL_MODES.filter((each) => values[SELECTS[each]] !== undefined);
  if (values.list === true) return { is: "list", of: given.length === 0 ? ALL_MODES : given };
  const [mode, second] = given;
  if (mode === undefined || second !== undefined) return { is: "wrong", faults: [EITHER] };

  const faults: string[] = [];
  const fault: Fault = (what) => void faults.push(what);
  const common = readCommon(values, mode, environment, fault);
  const json = values.json === true;
  const command: Command =
    mode === "bridge"
      ? { is: mode, options: readBridge(values, common, fault), json }
      : mode === "poller"
        ? { is: mode, options: readPoller(values, common, fault), json }
        : { is: mode, options: readService(values, common, fault), json };
  return faults.length === 0 ? command : { is: "wrong", faults };
}

type Common = ReturnType<typeof readCommon>;

function readCommon(values: Values, mode: CheckMode, environment: NodeJS.ProcessEnv, fault: Fault) {
  for (const [name, modes] of Object.entries(MODES_OF)) {
    if (values[name as keyof Values] !== undefined && !modes.includes(mode)) {
      fault(`--${name} is not for a ${MODE_WORDS[mode]}`);
    }
  }
  const inEnvironment = environment["SIGNING_SECRET"] ?? "";
  const secrets = values.secret ?? (inEnvironment === "" ? [] : [inEnvironment]);
  if (secrets.length === 0) {
    fault(
      "the signing secret is missing: put it in SIGNING_SECRET, or give --secret; the dashboard showed it",
    );
  }
  if (secrets.includes("")) fault("--secret is empty");
  for (const each of secrets.filter((secret) => secret !== "")) {
    const what = secretFault(each);
    if (what !== undefined) fault(`--secret or SIGNING_SECRET: ${what}`);
  }
  const only = (values.only ?? []).flatMap((list) => list.split(",")).map((id) => id.trim());
  const unknown = unknownRules(only, mode, RULES[mode]);
  if (unknown !== undefined) fault(unknown);
  const ca = values.ca === undefined ? undefined : readCertificate(values.ca, fault);
  if (values.workspace !== undefined && !UUID_FORM.test(values.workspace)) {
    fault("--workspace must be a UUID, as the dashboard shows it");
  }
  const insecureLoopback = values["insecure-loopback"] === true;
  return { secrets, only, insecureLoopback, ...(ca === undefined ? {} : { ca }) };
}

/** Returns the options that the check of pushes and the check of polls share. */
function readObserved(values: Values, common: Common, fault: Fault) {
  const { observe, workspace, channel, user } = values;
  if (channel === "" || user === "") fault("--channel and --user must not be empty");
  return {
    ...common,
    withinMs: readSeconds("within", 10, values, fault),
    ...(observe === undefined ? {} : { observe: readUrl("--observe", observe, common, fault) }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(channel === undefined ? {} : { channel }),
    ...(user === undefined ? {} : { user }),
  };
}

function readBridge(values: Values, common: Common, fault: Fault): BridgeCheckOptions {
  return {
    ...readObserved(values, common, fault),
    answerWithinMs: readSeconds("answer-within", 5, values, fault),
    url: readUrl("--url", values.url ?? "", common, fault),
  };
}

function readPoller(values: Values, common: Common, fault: Fault): PollerCheckOptions {
  return {
    ...readObserved(values, common, fault),
    waitMs: readSeconds("wait", 120, values, fault),
    listen: readListen(values.listen ?? LISTEN_BY_DEFAULT, fault),
  };
}

/** Returns the value of an option in ms. */
function readSeconds(
  name: "answer-within" | "wait" | "within",
  defaultSeconds: number,
  values: Values,
  fault: Fault,
): number {
  const ms = Number(values[name] ?? defaultSeconds) * 1000;
  if (!(ms >= 1000 && ms <= 600_000)) fault(`--${name} must be from 1 to 600 seconds`);
  return ms;
}

function readListen(text: string, fault: Fault): ListenAddress {
  const url = URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : NO_URL;
  const port = /:([0-9]+)$/.exec(text)?.[1];
  if (port === undefined || !isLoopback(url)) {
    fault(`--listen must be a loopback address and a port, such as ${LISTEN_BY_DEFAULT}, not "${text}"`);
  }
  return { host: url.hostname.replaceAll(/[[\]]/g, ""), port: Number(port) };
}

function readService(values: Values, common: Common, fault: Fault): ServiceCheckOptions {
  if (values.workspace === undefined)
    fault("--workspace is missing: give the workspace's id, as the dashboard shows it");
  return {
    ...common,
    url: readUrl("--service", values.service ?? "", common, fault),
    workspace: values.workspace ?? "",
    withLimits: values.limits === true,
  };
}

/** Placeholder for an invalid address. No check uses the placeholder, because the fault is recorded. */
const NO_URL = new URL("http://localhost/");

function readUrl(name: string, text: string, { insecureLoopback }: Common, fault: Fault): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    fault(`${name} must be an address, such as https://bridge.example/events, not "${text}"`);
    return NO_URL;
  }
  const isLocal = isLoopback(url);
  if (url.protocol === "http:" && !isLocal) {
    fault(`${name}: http:// is for loopback addresses only; the contract requires https://`);
  }
  if (insecureLoopback && !isLocal) {
    fault(`--insecure-loopback: ${url.hostname} is not a loopback address; use --ca`);
  }
  return url;
}

function readCertificate(path: string, fault: Fault): string | undefined {
  try {
    const text = readFileSync(path, "utf8");
    return text.includes("-----BEGIN CERTIFICATE-----")
      ? text
      : fault(`--ca: ${path} is not a PEM certificate`);
  } catch {
    return fault(`--ca: ${path} cannot be read`);
  }
}
