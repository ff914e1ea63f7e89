import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { findRedisServer } from "../../deploy/local/redis-server";
import { APT_PROGRAMS, installMissing } from "./apt";
import { findGatewayApi, findPrometheusOperator, installActionlint, installHelm } from "./go";
import { installNode, installTypeScripts } from "./npm";
import { installKubernetesValidate, installNio, installSlixmpp, installSynapse, preparePython } from "./pypi";
import { REDIS_SERVERS } from "./redis-servers";
import { installReleaseBefore } from "./release-before";
import type { Say } from "./tools-folder";

const ROOT = join(__dirname, "../..");

/** Promises that resolve when programs are installed. */
export type Installs = ReturnType<typeof installAll>;

type Install = (say: Say) => Promise<unknown>;

/** Installs the packages of the documentation site, unless they are already installed. */
const installSite: Install = async (say) => {
  const { stdout } = await promisify(execFile)(process.execPath, ["docs/site/build.mjs", "--install"], {
    cwd: ROOT,
  });
  if (stdout !== "") say(stdout.trim());
};

/**
 * Starts installing the missing programs that the test suites need, two at a time. `say` is called with lines that
 * report the progress.
 *
 * @param nodes releases of Node to install, e.g. "24.21.0"
 * @param stores names of servers to install, from `REDIS_SERVERS`
 * @returns `redis` resolves when a Redis server is installed (`npm test` needs nothing else); `all` resolves when
 * everything is installed. Both promises reject if an installation fails.
 */
export function installAll(nodes: readonly string[], stores: readonly string[], say: Say) {
  const step = async (install: Install): Promise<void> => {
    const began = performance.now();
    const lines: string[] = [];
    await install((line) => {
      lines.push(line);
      say(line);
    });
    const seconds = Math.round((performance.now() - began) / 1000);
    if (lines.length > 0) say(`${lines.at(-1)?.replace(/ …$/, "")}: done after ${seconds} s`);
  };
  const inTurn = async (installs: readonly Install[]): Promise<void> => {
    for (const install of installs) await step(install);
  };
  const redis = step((each) => findRedisServer(each));
  const apt = redis.then(() => inTurn([preparePython, (each) => installMissing(APT_PROGRAMS, each)]));
  const others = inTurn([
    // The installation of Redis locks apt-get, which a later step may need for Python.
    () => redis,
    installTypeScripts,
    installSite,
    ...nodes.map((version) => (each: Say) => installNode(version, each)),
    installHelm,
    installActionlint,
    findGatewayApi,
    findPrometheusOperator,
    installReleaseBefore,
  ]);
  const python = apt.then(() =>
    inTurn([
      installKubernetesValidate,
      installNio,
      installSynapse,
      installSlixmpp,
      ...stores.map((name) => (each: Say) => REDIS_SERVERS[name]?.(each) ?? Promise.resolve()),
    ]),
  );
  const all = Promise.all([redis, apt, others, python]);
  // The callers await the promises later. Until then, a failed installation must not end the process.
  for (const each of [redis, all]) each.catch(() => undefined);
  return { redis, all };
}
