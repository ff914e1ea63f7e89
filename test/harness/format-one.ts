import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Workspace } from "../../core/domain/workspace";
import { createLibrary } from "../../core/store/functions";
import { createKeys } from "../../core/store/keys";
import { connectRedis } from "../../core/store/redis/redis";
import { asList, asNumber, asText } from "../../core/store/redis/reply";
import { createSecretBox } from "../../core/store/secret-box";
import { indexEntry } from "../../core/store/workspace-index";
import { toRecord } from "../../core/store/workspace-record";
import { deliveryMode } from "../../core/domain/workspace";
import { findReleaseBefore, RELEASE_BEFORE } from "../programs/release-before";
import { newWorkspace } from "./new-workspace";
import { SECRETS_KEY } from "./processes";

const ROOT = join(__dirname, "../..");
const FILES = "library leases admit backlog append blocks health hold push workspace follow".split(" ");
const SHARDS = 16;

type OldFunction =
  | "publish"
  | "page"
  | "put_workspace"
  | "delete_workspace"
  | "record_pushes"
  | "read_pushes"
  | "log_delivery"
  | "read_deliveries"
  | "poll_health"
  | "find_failing"
  | "join_group"
  | "take_lease"
  | "open_group"
  | "append";

/** The functions of release 1.0.0-beta.1, which stores format 1; undefined if this clone lacks the release. */
const OLD_FUNCTIONS = readOldFunctions();

/** `test`, or `test.skip` if this clone lacks the release that stores format 1. */
export const testFormatOne = OLD_FUNCTIONS === undefined ? test.skip : test;

/** A store that tests use in the same way as release 1.0.0-beta.1. */
export type FormatOne = Awaited<ReturnType<typeof openFormatOne>>;

/** @param hasClock whether the functions read the clock that `setClock` sets; a cluster does not support this */
export async function openFormatOne(redisUrl: string, hasClock = false) {
  const redis = await connectRedis({ url: redisUrl, onError: () => undefined });
  const keys = createKeys(SHARDS);
  const { call, load } = createLibrary<OldFunction>(redis, createOldLibrary(hasClock), { has: () => false });
  const box = createSecretBox([Buffer.from(SECRETS_KEY, "hex")]);
  const versions = new Map<string, string>();

  async function put(workspace: Workspace): Promise<void> {
    const version = versions.get(workspace.id) ?? "0";
    const args = [
      workspace.id,
      version,
      toRecord(workspace, box),
      deliveryMode(workspace),
      indexEntry(workspace),
    ];
    versions.set(
      workspace.id,
      String(asNumber(await call("put_workspace", keys.prefixOf(workspace.id), args))),
    );
  }

  return {
    redis,
    keys,
    call,
    put,
    async add(fields: Partial<Workspace> = {}): Promise<Workspace> {
      const workspace = newWorkspace(fields);
      await put(workspace);
      return workspace;
    },
    /** Loads the functions, as a core does when it starts. */
    load,
    /** Loads the functions, and marks the store as release 1.0.0-beta.1 does. */
    async mark(): Promise<void> {
      await load();
      await redis.command("cb:shards", ["SET", "cb:shards", String(SHARDS)]);
    },
    setClock: async (us: number) => {
      await redis.command("", ["DEL", "clock"]);
      await redis.command("", ["RPUSH", "clock", String(Math.floor(us / 1e6)), String(Math.floor(us % 1e6))]);
    },
    /**
     * Publishes events with the given texts. Returns each event with its sequence, and as JSON in the form in which a
     * page contains it.
     */
    async publish({ id }: Pick<Workspace, "id">, texts: readonly string[], type = "message.create") {
      const events = texts.flatMap((text, i) => {
        const [before, after] = [
          `{"id":"evt_${text.slice(0, 8)}${i}","sequence":`,
          `,"text":${JSON.stringify(text)}}`,
        ];
        return [id, "", `evt_${text.slice(0, 8)}${i}`, "", "", type, "retried", before, after];
      });
      const answers = asList(await call("publish", keys.prefixOf(id), ["86400", "50000", ...events])).map(
        asList,
      );
      return answers.map((answer, i) => {
        const sequence = asText(answer[2]);
        return { sequence: Number(sequence), json: `${events[9 * i + 7]}${sequence}${events[9 * i + 8]}` };
      });
    },
    /**
     * Polls for a page. Returns the page's events, whether more events wait, and whether events after the cursor have
     * expired.
     */
    async page({ id }: Pick<Workspace, "id">, from: string, limit: number) {
      const args = ["1000000", id, await versionOf(id), "page", from, String(limit)];
      const [answer] = asList(await call("page", keys.prefixOf(id), args));
      const [outcome, last, more, gap, ...pieces] = asList(answer);
      if (asText(outcome) !== "page") throw new Error(asText(outcome));
      const texts: string[] = [];
      for (const piece of pieces)
        texts.push(Array.isArray(piece) ? await range(piece.map(String)) : asText(piece));
      return {
        last: asText(last),
        hasMore: asNumber(more) === 1,
        gap: asNumber(gap) === 1,
        json: texts.join(","),
      };
    },
    close: () => redis.close(),
  };

  async function versionOf(id: string): Promise<string> {
    const key = `${keys.prefixOf(id)}:st:${id}`;
    return asText(await redis.command(key, ["HGET", key, "version"]));
  }

  async function range([key = "", from = "", to = ""]: readonly string[]): Promise<string> {
    return asText(await redis.command(key, ["GETRANGE", key, from, to]));
  }
}

/** Reads the functions from a build of the release if this machine contains one, and otherwise from the git history. */
function readOldFunctions(): string | undefined {
  const folder = findReleaseBefore();
  const readFunction = (name: string): string => {
    const path = `core/store/functions/${name}.lua`;
    if (folder !== undefined) return readFileSync(join(folder, "dist", path), "utf8");
    return execFileSync("git", ["show", `${RELEASE_BEFORE.commit}:${path}`], {
      cwd: ROOT,
      encoding: "utf8",
      maxBuffer: 1e7,
      stdio: ["ignore", "pipe", "ignore"],
    });
  };
  try {
    return FILES.map(readFunction).join("\n");
  } catch {
    return undefined;
  }
}

function createOldLibrary(hasClock: boolean) {
  if (OLD_FUNCTIONS === undefined) throw new Error("this clone lacks the release that stores format 1");
  const source = hasClock
    ? OLD_FUNCTIONS.replace("redis.call('TIME')", "redis.call('LRANGE', 'clock', 0, 1)")
    : OLD_FUNCTIONS;
  const version = createHash("sha256").update(source).digest("hex").slice(0, 12);
  const name = `chatbridge_${version}`;
  return { version, name, code: `#!lua name=${name}\n${source.replaceAll("@V@", version)}` };
}
