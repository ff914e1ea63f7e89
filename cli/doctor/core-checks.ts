import { status } from "@grpc/grpc-js";
import type { GetInstallationResponse } from "../../proto/gen/chatbridge/v1/installation";
import type { FollowGroup } from "../../proto/gen/chatbridge/v1/workspace";
import { isRefusal, type AskedCore, type CoreAnswer, type CoreRefusal, type SharedFacts } from "./ask-cores";
import { judgeCertificate } from "./certificates";
import { judgeClock } from "./clocks";
import { counted, fail, judged, ok, skipped, warn, worstOf, type Finding } from "./finding";

// The checks of all cores. These checks judge what the cores answered, and do no I/O.

/** A core that answered. */
interface AnsweredCore extends CoreAnswer {
  readonly at: string;
}

export function answeredCores(asked: readonly AskedCore[]): readonly AnsweredCore[] {
  return asked.flatMap(({ at, answer }) => (isRefusal(answer) ? [] : [{ at, ...answer }]));
}

/** Judges whether every core answers. Returns one finding for each core that does not answer. */
export function judgeReach(asked: readonly AskedCore[]): readonly Finding[] {
  const faults = asked.flatMap((each) => (isRefusal(each.answer) ? [judgeRefusal(each, each.answer)] : []));
  if (faults.length > 0) return faults;
  return [ok("core", `core answers at ${asked.map(({ at }) => at).join(", ")}`)];
}

function judgeRefusal({ at, tls }: AskedCore, { code, details }: CoreRefusal): Finding {
  const core = `core at ${at}`;
  if (code === status.UNAUTHENTICATED) {
    return fail("core-token", `${core} rejects the token`, {
      fix: "use a token of the role operator from core's CORE_TOKENS or CORE_TOKENS_FILE",
      page: "docs/tokens.md#add-a-token",
    });
  }
  if (code === status.PERMISSION_DENIED) {
    return fail("core-token", `${core} does not allow the checks with this token: ${details}`, {
      fix: "use a token with the role operator that is not limited to some workspaces",
      page: "docs/tokens.md#names-and-workspaces-of-tokens",
    });
  }
  if (code === status.UNIMPLEMENTED) {
    return fail("versions", `${core} runs a release that does not know this check`, {
      fix: "upgrade core to the release of this command",
      page: "docs/upgrade.md#upgrades",
    });
  }
  if (code === status.UNAVAILABLE && details.startsWith("the store")) {
    return fail("redis", `${core} cannot use Redis: ${details}`, {
      fix: "check that Redis runs; core's log names the reason",
      page: "docs/doctor.md#redis",
    });
  }
  if (tls !== "plain" && !("failed" in tls)) {
    return fail("core", `${core} cannot be called (${details}), but answers a TLS handshake`, {
      fix: "set CORE_TLS_CA to the certificate of the authority that issued core's, and see core-certificate",
      page: "docs/doctor.md#certificates",
    });
  }
  return fail("core", `${core} does not answer: ${details}`, {
    fix: "check that core runs, CORE_ADDRESS or --core, the firewall, and CORE_TLS_CA if core uses TLS",
    page: "docs/doctor.md#core",
  });
}

/** Judges the certificates of all cores. */
export function judgeCoreTls(asked: readonly AskedCore[], nowMs: number): Finding {
  if (asked.every(({ tls }) => tls === "plain")) return skipped("core-certificate", "core uses no TLS");
  return worstOf(
    asked.map(({ at, tls }) => {
      if (tls === "plain") return skipped("core-certificate", `core at ${at} uses no TLS`);
      if (!("failed" in tls)) return judgeCertificate("core-certificate", `core at ${at}`, tls, nowMs);
      return fail("core-certificate", `there is no TLS handshake with core at ${at}: ${tls.failed}`, {
        fix: "set CORE_TLS_CERT and CORE_TLS_KEY of core, or remove CORE_TLS_CA here",
        page: "docs/doctor.md#certificates",
      });
    }),
  );
}

/** Judges what each core reports about itself, and whether the cores agree where they must. */
export function judgeCores(cores: readonly AnsweredCore[], ownVersion: string): readonly Finding[] {
  return [
    judgeVersions(cores, ownVersion),
    judgeFormats(cores),
    judgeCount(cores),
    worstOf(cores.map(({ at, skewMs }) => judgeClock("core-clock", `core at ${at}`, skewMs))),
    worstOf(cores.map(judgeRedisClock)),
    worstOf(cores.map(judgeEncryption)),
    worstOf(cores.map(judgeUnreadable)),
    judgeTokens(cores),
    judgePushAllow(cores),
    worstOf(cores.map(judgeMail)),
  ];
}

/** The version that a command reports when it runs from its sources. */
const FROM_SOURCES = "unknown";

function judgeVersions(cores: readonly AnsweredCore[], ownVersion: string): Finding {
  const page = "docs/upgrade.md#upgrades";
  const versions = new Set(cores.map(({ installation: { version, commit } }) => `${version} (${commit})`));
  if (versions.size > 1) {
    const each = cores.map(
      ({ at, installation }) => `${at} ${installation.version} (${installation.commit})`,
    );
    const fix = "complete the upgrade, so that all cores run the same release";
    return warn("versions", `the cores run different releases: ${each.join(", ")}`, { fix, page });
  }
  const version = cores[0]?.installation.version ?? "";
  if (version !== ownVersion && ownVersion !== FROM_SOURCES) {
    const fix = "use the command of the release that core runs";
    return warn("versions", `core runs ${version}, and this command is ${ownVersion}`, { fix, page });
  }
  return ok("versions", `all cores run ${[...versions].join()}`);
}

function judgeFormats(cores: readonly AnsweredCore[]): Finding {
  const wrong = cores.find(({ installation: { storeFormat, storedFormat } }) => storeFormat !== storedFormat);
  if (wrong === undefined)
    return ok("format", `the data has the format ${cores[0]?.installation.storedFormat}`);
  const { storeFormat, storedFormat } = wrong.installation;
  const says = `core at ${wrong.at} stores the format ${storeFormat}, but the data in Redis has the format ${storedFormat}`;
  return fail("format", says, {
    fix: "stop this core, and run the release that fits the data, or migrate the data",
    page: "docs/upgrade.md#upgrades",
  });
}

/** Compares the number of cores that share the shards with the number of cores that answered. */
function judgeCount(cores: readonly AnsweredCore[]): Finding {
  const live = Math.max(...cores.map(({ installation }) => installation.cores));
  if (live > cores.length) {
    const why = `${counted(cores.length, "core")} of ${live} answered here; to check all, use dns:///<name>:<port> with a name that has all their addresses`;
    return skipped("cores", why);
  }
  return ok("cores", `${counted(live, "core")} share${live === 1 ? "s" : ""} the shards`);
}

function judgeRedisClock({ at, installation: { serviceAt, machineAt } }: AnsweredCore): Finding {
  const skewMs = (serviceAt?.getTime() ?? 0) - (machineAt?.getTime() ?? 0);
  return judgeClock("redis-clock", "Redis", skewMs, `core at ${at}`);
}

function judgeEncryption({ at, installation }: AnsweredCore): Finding {
  if (installation.usesTls) return ok("core-encryption", "callers of core connect with TLS");
  if (!installation.listensBeyondLoopback)
    return ok("core-encryption", "core accepts only callers on its machine");
  return warn("core-encryption", `core at ${at} accepts callers of other machines without TLS`, {
    fix: "set CORE_TLS_CERT and CORE_TLS_KEY, or let only a private network reach the port",
    page: "docs/doctor.md#core-encryption",
  });
}

function judgeUnreadable({ installation: { unreadableWorkspaces: count } }: AnsweredCore): Finding {
  if (count === undefined) return skipped("secrets", "core is still counting: run the command again");
  if (count === 0) return ok("secrets", "core can decrypt the secrets of all workspaces");
  return fail("secrets", `core cannot decrypt the secrets of ${counted(count, "workspace")}`, {
    fix: "add the missing keys to SECRETS_KEY (chat-bridge workspace keys lists them), or connect the workspaces again",
    page: "docs/tokens.md#a-secret-is-unreadable",
  });
}

function judgeTokens(cores: readonly AnsweredCore[]): Finding {
  const weak = new Map(
    cores.flatMap(({ installation }) =>
      installation.tokens.flatMap(({ role, name, weakness }) =>
        weakness === "" ? [] : [[`${role}:${name}`, `${role}:${name} has ${weakness}`] as const],
      ),
    ),
  );
  if (weak.size > 0) {
    return warn("tokens", `tokens are easy to guess: ${[...weak.values()].join("; ")}`, {
      fix: "replace them with openssl rand -hex 32",
      page: "docs/tokens.md#add-a-token",
    });
  }
  const tokens = cores[0]?.installation.tokens ?? [];
  return ok(
    "tokens",
    `${counted(tokens.length, "token")}: ${tokens.map(({ role, name }) => `${role}:${name}`).join(", ")}`,
  );
}

/** A network whose prefix has at most this many bits contains too many addresses to be allowed. */
const BROAD_BITS = { v4: 7, v6: 6 } as const;

function judgePushAllow(cores: readonly AnsweredCore[]): Finding {
  const allowed = [...new Set(cores.flatMap(({ installation }) => installation.pushAllow))];
  const broad = allowed.filter((block) => {
    const bits = Number(block.slice(block.lastIndexOf("/") + 1));
    return bits <= (block.includes(":") ? BROAD_BITS.v6 : BROAD_BITS.v4);
  });
  if (broad.length > 0) {
    return warn(
      "push-allow",
      `PUSH_ALLOW contains ${broad.join(", ")}: owners of workspaces can reach almost any address of your network`,
      {
        fix: "list only the networks of your own bridges",
        page: "docs/doctor.md#push-allow",
      },
    );
  }
  if (allowed.length === 0) return ok("push-allow", "pushes go only to public addresses");
  return ok("push-allow", `pushes may also go to ${allowed.join(", ")}`);
}

function judgeMail({ at, installation }: AnsweredCore): Finding {
  return judged(
    "mail",
    installation.sendsMail ? "ok" : "warn",
    installation.sendsMail
      ? "a mail server is set"
      : `core at ${at} only logs its emails to owners of workspaces`,
    { fix: "set SMTP_URL and MAIL_FROM", page: "docs/settings.md#core" },
  );
}

/** Judges whether each shard has a core. */
export function judgeShards({ shards, freeShards }: GetInstallationResponse): Finding {
  if (freeShards === 0) return ok("shards", `all ${shards} shards have a core`);
  return fail("shards", `${freeShards} of ${shards} shards have no core, so their pushes wait`, {
    fix: "restart the cores; if it continues, look for errors about leases in their logs",
    page: "docs/leases.md#what-happens-when-a-lease-is-lost",
  });
}

const HOUR_MS = 3_600_000;

/** Judges the age of the last backup, and whether a later backup failed. */
export function judgeBackup(
  { backupAt, backupFailedAt }: Pick<GetInstallationResponse, "backupAt" | "backupFailedAt">,
  nowMs: number,
  everyHours: number,
): Finding {
  const advice = {
    fix: "look in the log of the job that makes the backups, or make one now",
    page: "docs/backup.md",
  };
  if (backupFailedAt !== undefined)
    return fail("backup", `the last backup failed at ${backupFailedAt.toISOString()}`, advice);
  if (backupAt === undefined) return warn("backup", "no backup of the data is known", advice);
  const hours = Math.max(0, nowMs - backupAt.getTime()) / HOUR_MS;
  const age = hours < 1 ? "less than an hour" : counted(Math.floor(hours), "hour");
  const says = `the last complete backup is ${age} old`;
  return judged("backup", hours > 2 * everyHours ? "warn" : "ok", says, advice);
}

/** The group of `tail events`. This group may fall behind, because no game depends on it. */
const TAIL = /^chat-bridge-tail$/;
const BEHIND = { warnMs: 60_000, failMs: 12 * HOUR_MS } as const;

/** Judges the games that follow events, and the workspaces. */
export function judgeShared({ groups, failing }: SharedFacts, nowMs: number): readonly Finding[] {
  return [
    isRefusal(groups)
      ? skipped("games", `core did not list the groups: ${groups.details}`)
      : judgeGroups(groups, nowMs),
    typeof failing === "number"
      ? judgeFailing(failing)
      : skipped("workspaces", `core did not count the workspaces: ${failing.details}`),
  ];
}

function judgeGroups(groups: readonly FollowGroup[], nowMs: number): Finding {
  const behind = groups
    .filter(({ name }) => !TAIL.test(name))
    .map(({ name, oldestAt, streams }) => ({ name, streams, ms: nowMs - (oldestAt?.getTime() ?? nowMs) }))
    .filter(({ ms }) => ms > BEHIND.warnMs)
    .toSorted((a, b) => b.ms - a.ms);
  const [first] = behind;
  if (first === undefined) {
    const says =
      groups.length === 0
        ? "no game has followed in the last 24 hours"
        : `${counted(groups.length, "group")} of games, none behind`;
    return ok("games", says);
  }
  const each = behind.map(
    ({ name, ms, streams }) =>
      `${name} by ${Math.floor(ms / 60_000)} minutes with ${counted(streams, "stream")}`,
  );
  const says = `games are behind: ${each.join(", ")}`;
  return judged("games", first.ms > BEHIND.failMs ? "fail" : "warn", says, {
    fix: "start the game, or delete a group that no game uses (chat-bridge groups delete); events are lost after 24 hours",
    page: "docs/troubleshooting.md#games",
  });
}

function judgeFailing(failing: number): Finding {
  const says =
    failing === 0
      ? "no workspace is failing"
      : `${counted(failing, "workspace")} ${failing === 1 ? "is" : "are"} failing`;
  return judged("workspaces", failing === 0 ? "ok" : "warn", says, {
    fix: "chat-bridge workspace list --state failing shows them",
    page: "docs/troubleshooting.md#the-dashboards-words",
  });
}
