import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { HostPort } from "../../../runtime/settings";

export const SERVER_NAME = "localhost";

const UNLIMITED = { per_second: 10_000, burst_count: 10_000 };

/** Returns the configuration of Synapse. The field `log` is the content of the file whose path is in `log_config`. */
export function synapseConfiguration(
  folder: string,
  signingKey: string,
  { host, port }: HostPort,
  url: string,
) {
  return {
    log: LOG,
    server_name: SERVER_NAME,
    public_baseurl: `${url}/`,
    report_stats: false,
    pid_file: join(folder, "synapse.pid"),
    signing_key_path: signingKey,
    media_store_path: join(folder, "media"),
    log_config: join(folder, "log.yaml"),
    // The secret can change at each start, because members' access tokens do not depend on it.
    macaroon_secret_key: randomBytes(32).toString("hex"),
    registration_shared_secret_path: join(folder, "registration.secret"),
    database: { name: "sqlite3", args: { database: join(folder, "homeserver.db") } },
    listeners: [{ port, type: "http", bind_addresses: [host], resources: [{ names: ["client"] }] }],
    // The server is not connected to other homeservers.
    federation_domain_whitelist: [],
    trusted_key_servers: [],
    // The bridge cannot write in encrypted rooms.
    encryption_enabled_by_default_for_room_type: "off",
    room_list_publication_rules: [{ action: "allow" }],
    // The default limits are too low for the bridge. Failed logins stay limited.
    rc_message: UNLIMITED,
    rc_login: { address: UNLIMITED, account: UNLIMITED },
    rc_registration: UNLIMITED,
    rc_joins: { local: UNLIMITED },
    rc_joins_per_room: UNLIMITED,
    rc_invites: { per_room: UNLIMITED, per_user: UNLIMITED, per_issuer: UNLIMITED },
    rc_room_creation: UNLIMITED,
    rc_media_create: UNLIMITED,
  };
}

const LOG = {
  version: 1,
  formatters: { line: { format: "%(asctime)s %(levelname)s %(name)s: %(message)s" } },
  handlers: { console: { class: "logging.StreamHandler", formatter: "line" } },
  root: { level: "WARNING", handlers: ["console"] },
};
