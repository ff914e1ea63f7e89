import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

export const ROOT = join(__dirname, "../..");

/** A service of docker-compose.yml, as far as tests look at it. */
export interface ComposeService {
  readonly image: string;
  readonly build?: { readonly context: string; readonly args: Readonly<Record<string, string>> };
  readonly user: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly profiles?: readonly string[];
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly container_name?: string;
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, object>>;
}

export const COMPOSE_TEXT = readFileSync(join(ROOT, "docker-compose.yml"), "utf8");

/** The variables of `.env` that the file asks for, with what stands for them. */
export const COMPOSE_VARIABLES: ReadonlyMap<string, string> = new Map(
  [...COMPOSE_TEXT.matchAll(/\$\{([A-Z_]+):-([^}]*)\}/g)].map(([, name = "", fallback = ""]) => [
    name,
    fallback,
  ]),
);

/** docker-compose.yml, with nothing set in `.env`. */
export function readComposeFile(): ComposeFile {
  return JSON.parse(JSON.stringify(parse(COMPOSE_TEXT, { merge: true })), (_key, value: unknown) =>
    typeof value === "string" ? interpolated(value) : value,
  ) as ComposeFile;
}

function interpolated(text: string): string {
  return text.replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, "$1").replaceAll("$$", "$");
}
