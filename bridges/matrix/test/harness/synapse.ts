import { spawn, type ChildProcess } from "node:child_process";
import { createHmac } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../../test/harness/processes";
import { until } from "../../../../test/harness/wait";
import { installSynapse } from "../../../../test/programs/pypi";
import { createMember, type MatrixMember } from "./matrix-member";

/** Milliseconds within which a `beforeAll` must install and start Synapse. */
export const SYNAPSE_WITHIN_MS = 15 * 60_000;

const REGISTRATION_SECRET = "registration-secret-for-tests";
const SIGNING_KEY = `ed25519 a_test ${Buffer.alloc(32, "key for tests").toString("base64").replace("=", "")}\n`;
export const PASSWORD = "password-for-tests";
export const SERVER_NAME = "chat.test";
const UNLIMITED = { per_second: 10_000, burst_count: 10_000 };

export interface TestSynapse {
  readonly url: string;
  /** Creates an account. Resolves to a member with this account. */
  member(name: string): Promise<MatrixMember>;
  /** Creates the account if it does not exist. Resolves to the account's access token. */
  account(name: string): Promise<string>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts the stopped server again, with its data. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a homeserver with its own data folder, on a free port. Rate limits are high by default.
 *
 * @param settings further settings, e.g. `{ rc_message: { per_second: 1, burst_count: 2 } }`
 */
export async function startSynapse(settings: Readonly<Record<string, unknown>> = {}): Promise<TestSynapse> {
  const python = await installSynapse((line) => process.stderr.write(`${line}\n`));
  const folder = mkdtempSync(join(tmpdir(), "cb-synapse-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config = join(folder, "homeserver.yaml");
  const logs = join(folder, "output.log");
  writeFileSync(join(folder, "log.yaml"), JSON.stringify(LOGGING));
  // YAML is a superset of JSON.
  writeFileSync(config, JSON.stringify({ ...configuration(folder, port), ...settings }));
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const output = openSync(logs, "a");
    const started = spawn(python, ["-m", "synapse.app.homeserver", "-c", config], {
      cwd: folder,
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    child = started;
    await until("Synapse is ready", async () => {
      if (started.exitCode !== null)
        throw new Error(`Synapse exited:\n${readFileSync(logs, "utf8").slice(-4000)}`);
      return fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
  }

  async function stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child?.once("exit", resolve));
    child.kill(signal);
    await exited;
  }

  async function account(name: string): Promise<string> {
    const path = `${url}/_synapse/admin/v1/register`;
    const { nonce } = (await (await fetch(path)).json()) as { nonce: string };
    const mac = createHmac("sha1", REGISTRATION_SECRET)
      .update([nonce, name, PASSWORD, "notadmin"].join("\0"))
      .digest("hex");
    const body = JSON.stringify({ nonce, username: name, password: PASSWORD, admin: false, mac });
    const answer = await fetch(path, { method: "POST", body });
    if (!answer.ok) throw new Error(`cannot register ${name}: ${await answer.text()}`);
    return ((await answer.json()) as { access_token: string }).access_token;
  }

  // Synapse's option `--generate-keys` would take as long as starting the server.
  writeFileSync(join(folder, "signing.key"), SIGNING_KEY);
  await start();
  return {
    url,
    account,
    member: async (name) => createMember({ url, token: await account(name), id: `@${name}:${SERVER_NAME}` }),
    start,
    stop,
    async close() {
      await stop("SIGKILL");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const LOGGING = {
  version: 1,
  handlers: { console: { class: "logging.StreamHandler" } },
  root: { level: "WARNING", handlers: ["console"] },
};

function configuration(folder: string, port: number): Readonly<Record<string, unknown>> {
  return {
    server_name: SERVER_NAME,
    report_stats: false,
    pid_file: join(folder, "pid"),
    signing_key_path: join(folder, "signing.key"),
    media_store_path: join(folder, "media"),
    log_config: join(folder, "log.yaml"),
    macaroon_secret_key: "macaroon-secret-for-tests",
    registration_shared_secret: REGISTRATION_SECRET,
    bcrypt_rounds: 4,
    database: { name: "sqlite3", args: { database: join(folder, "homeserver.db") } },
    listeners: [
      { port, type: "http", bind_addresses: ["127.0.0.1"], resources: [{ names: ["client", "media"] }] },
    ],
    trusted_key_servers: [],
    suppress_key_server_warning: true,
    enable_metrics: false,
    rc_message: UNLIMITED,
    rc_registration: UNLIMITED,
    rc_login: { address: UNLIMITED, account: UNLIMITED, failed_attempts: UNLIMITED },
    rc_joins: { local: UNLIMITED, remote: UNLIMITED },
    rc_joins_per_room: UNLIMITED,
    rc_invites: { per_room: UNLIMITED, per_user: UNLIMITED, per_issuer: UNLIMITED },
    rc_room_creation: UNLIMITED,
    rc_media_create: UNLIMITED,
  };
}
