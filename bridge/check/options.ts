import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { isLoopback } from "./http-client";
import type { BridgeCheckOptions } from "./push/check-bridge";
import type { CheckMode } from "./result";
import { unknownRules } from "./rule";
import { RULES } from "./rules";
import type { ServiceCheckOptions } from "./service/check-service";

/** The parsed command line, or all its faults. */
export type Command =
  | { readonly is: "help" }
  | { readonly is: "list"; readonly of: readonly CheckMode[] }
  | { readonly is: "bridge"; readonly options: BridgeCheckOptions; readonly json: boolean }
  | { readonly is: "service"; readonly options: ServiceCheckOptions; readonly json: boolean }
  | { readonly is: "wrong"; readonly faults: readonly string[] };

const OPTIONS = {
  url: { type: "string" },
  service: { type: "string" },
  secret: { type: "string", multiple: true },
  observe: { type: "string" },
  workspace: { type: "string" },
  channel: { type: "string" },
  user: { type: "string" },
  "answer-within": { type: "string" },
  within: { type: "string" },
  limits: { type: "boolean" },
  only: { type: "string", multiple: true },
  list: { type: "boolean" },
  json: { type: "boolean" },
  ca: { type: "string" },
  "insecure-loopback": { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];
/** Records a fault. Returns undefined, in place of the value that could not be read. */
type Fault = (what: string) => undefined;

const FOR_ONE_SIDE: Readonly<Record<CheckMode, readonly (keyof Values)[]>> = {
  bridge: ["observe", "channel", "user", "answer-within", "within"],
  service: ["limits"],
};
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function readCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  let values: Values;
  try {
    ({ values } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: false }));
  } catch (error) {
    return { is: "wrong", faults: [error instanceof Error ? error.message : String(error)] };
  }
  if (values.help === true || args.length === 0) return { is: "help" };
  const sides = { bridge: values.url !== undefined, service: values.service !== undefined };
  const of = (["bridge", "service"] as const).filter((side) => sides[side] || sides.bridge === sides.service);
  if (values.list === true) return { is: "list", of };
  const [mode, second] = of;
  if (mode === undefined || second !== undefined) {
    return { is: "wrong", faults: ["give either --url, for a bridge, or --service, for the service"] };
  }

  const faults: string[] = [];
  const fault: Fault = (what) => void faults.push(what);
  const common = readCommon(values, mode, environment, fault);
  const json = values.json === true;
  const command =
    mode === "bridge"
      ? { is: mode, options: readBridge(values, common, fault), json }
      : { is: mode, options: readService(values, common, fault), json };
  return faults.length === 0 ? command : { is: "wrong", faults };
}

type Common = ReturnType<typeof readCommon>;

function readCommon(values: Values, mode: CheckMode, environment: NodeJS.ProcessEnv, fault: Fault) {
  for (const name of FOR_ONE_SIDE[mode === "bridge" ? "service" : "bridge"]) {
    if (values[name] !== undefined) fault(`--${name} is not for a ${mode}`);
  }
  const inEnvironment = environment["SIGNING_SECRET"] ?? "";
  const secrets = values.secret ?? (inEnvironment === "" ? [] : [inEnvironment]);
  if (secrets.length === 0) fault("--secret is missing: give the signing secret that the dashboard showed");
  if (secrets.includes("")) fault("--secret is empty");
  const only = (values.only ?? []).flatMap((list) => list.split(",")).map((id) => id.trim());
  const unknown = unknownRules(only, mode, RULES[mode]);
  if (unknown !== undefined) fault(unknown);
  const ca = values.ca === undefined ? undefined : readCertificate(values.ca, fault);
  if (values.workspace !== undefined && !UUID.test(values.workspace)) {
    fault("--workspace must be a UUID, as the dashboard shows it");
  }
  const insecureLoopback = values["insecure-loopback"] === true;
  return { secrets, only, insecureLoopback, ...(ca === undefined ? {} : { ca }) };
}

function readBridge(values: Values, common: Common, fault: Fault): BridgeCheckOptions {
  function milliseconds(name: "answer-within" | "within", defaultSeconds: number): number {
    const ms = Number(values[name] ?? defaultSeconds) * 1000;
    if (!(ms >= 1000 && ms <= 600_000)) fault(`--${name} must be from 1 to 600 seconds`);
    return ms;
  }
  const { observe, workspace, channel, user } = values;
  if (channel === "" || user === "") fault("--channel and --user must not be empty");
  return {
    ...common,
    answerWithinMs: milliseconds("answer-within", 5),
    withinMs: milliseconds("within", 10),
    url: readUrl("--url", values.url ?? "", common, fault),
    ...(observe === undefined ? {} : { observe: readUrl("--observe", observe, common, fault) }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(channel === undefined ? {} : { channel }),
    ...(user === undefined ? {} : { user }),
  };
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
