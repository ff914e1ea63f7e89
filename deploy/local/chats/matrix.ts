import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatHostPort, type HostPort } from "../../../runtime/settings";
import { StartFault } from "../start-fault";
import { isExecutable } from "./find-program";
import { BRIDGE_ACCOUNT, MEMBERS, type LocalChat } from "./local-chat";
import { ALIAS, prepareSynapse } from "./prepare-synapse";
import { synapseConfiguration } from "./synapse-configuration";

const MODULE = "synapse.app.homeserver";
const PROBE_WITHIN_MS = 2_000;

/** Matrix, with the homeserver Synapse. */
export const MATRIX: LocalChat = {
  label: "Matrix",
  hasAccounts: true,

  findServer(find, { synapseVenv }) {
    if (synapseVenv !== undefined) return commandInVenv(synapseVenv);
    const program = find("synapse_homeserver");
    if (program !== undefined) return [program];
    const python = find("python3");
    if (python !== undefined && hasSynapse(python)) return [python, "-m", MODULE];
    throw new StartFault(
      "--with matrix needs the Matrix homeserver Synapse: run\n" +
        "  python3 -m venv ~/synapse && ~/synapse/bin/pip install matrix-synapse\n" +
        "and start again with SYNAPSE_VENV=~/synapse (or run brew install synapse, and start again). " +
        "Debian also needs sudo apt-get install python3-venv. To use another homeserver, see bridges/matrix/README.md.",
    );
  },

  async configure(command, { folder, listen, at }) {
    const signingKey = join(folder, "signing.key");
    if (!existsSync(signingKey)) writeFileSync(signingKey, newSigningKey(), { mode: 0o600 });
    const file = join(folder, "homeserver.yaml");
    const { log, ...configuration } = synapseConfiguration(folder, signingKey, listen, urlOf(at));
    writeFileSync(configuration.log_config, JSON.stringify(log), { mode: 0o600 });
    // YAML is a superset of JSON.
    writeFileSync(file, JSON.stringify(configuration), { mode: 0o600 });
    return [...command, "-c", file];
  },

  async whyNotReady(at) {
    try {
      const answer = await fetch(`${urlOf(at)}/health`, { signal: AbortSignal.timeout(PROBE_WITHIN_MS) });
      return answer.ok ? undefined : `status ${answer.status}`;
    } catch {
      return "it does not answer";
    }
  },

  prepare: (parts, signal) => prepareSynapse(urlOf(parts.at), parts, signal),

  bridgeSettings: ({ at, passwords, pictures }, own) => ({
    MATRIX_HOMESERVER: urlOf(at),
    MATRIX_USER: BRIDGE_ACCOUNT,
    MATRIX_PASSWORD: passwords.bridge,
    MATRIX_ACCESS_TOKEN: undefined,
    MATRIX_IMAGE_ALLOW: [own["MATRIX_IMAGE_ALLOW"] ?? "", pictures].join(","),
  }),

  howToJoin: ({ at, passwords }) => ({
    at: urlOf(at),
    room: ALIAS,
    lines: [
      `homeserver: join ${ALIAS} with any Matrix client, and type !play start`,
      `(accounts ${MEMBERS.join(" and ")}; password of both: ${passwords.members} )`,
    ],
  }),
};

function urlOf(at: HostPort): string {
  return `http://${formatHostPort(at)}`;
}

/**
 * Returns the command that runs Synapse in a virtual environment. The environment's scripts may contain an outdated
 * path of Python, so the command does not use them.
 */
function commandInVenv(venv: string): readonly string[] {
  const python = join(venv, "bin/python");
  if (isExecutable(python) && hasSynapse(python)) return [python, "-m", MODULE];
  throw new StartFault(
    `SYNAPSE_VENV: ${venv} is not a virtual environment with Synapse: ` +
      `run python3 -m venv ${venv} && ${venv}/bin/pip install matrix-synapse, and start again.`,
    true,
  );
}

function hasSynapse(python: string): boolean {
  const look = "from importlib.util import find_spec; exit(find_spec('synapse.app.homeserver') is None)";
  return spawnSync(python, ["-c", look], { stdio: "ignore" }).status === 0;
}

function newSigningKey(): string {
  const seed = randomBytes(32).toString("base64").replace("=", "");
  return `ed25519 a_${randomBytes(3).toString("hex")} ${seed}\n`;
}
