import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

export const ROOT = join(__dirname, "../..");

type Texts = readonly string[];
type Named<T> = Readonly<Record<string, T>>;

type Listed = "command" | "entrypoint" | "ports" | "volumes" | "networks";
/** The fields that tests read from a service in docker-compose.yml. */
interface ComposeService extends Partial<
  Record<Listed, Texts> & Record<"restart" | "mem_limit" | "pull_policy" | "stop_grace_period", string>
> {
  readonly image: string;
  readonly user: string;
  readonly cpus?: string | number;
  readonly pids_limit?: number;
  readonly ulimits?: Named<number>;
  readonly build?: object;
  readonly environment?: Named<string>;
  readonly healthcheck?: { readonly test: Texts };
  readonly depends_on?: Named<{ readonly condition: string }>;
}

type ComposeFile = Readonly<Record<"networks" | "volumes", Named<object>>> & {
  readonly services: Named<ComposeService>;
};

export const COMPOSE_TEXT = readFileSync(join(ROOT, "docker-compose.yml"), "utf8");

/** The variables of `.env` that docker-compose.yml uses, and the default of each. */
export const COMPOSE_VARIABLES: Named<string> = Object.fromEntries(
  [...COMPOSE_TEXT.matchAll(/\$\{([A-Z_]+):-([^}]*)\}/g)].map(([, name, fallback]) => [name, fallback]),
);

export function readComposeFile(): ComposeFile {
  const interpolated = (text: string) =>
    text.replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, "$1").replaceAll("$$", "$");
  return JSON.parse(JSON.stringify(parse(COMPOSE_TEXT, { merge: true })), (_key, value: unknown) =>
    typeof value === "string" ? interpolated(value) : value,
  ) as ComposeFile;
}
