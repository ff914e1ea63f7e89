import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openBridgeStage } from "../../../common/test/bridge-stage";
import { joinIrc, type IrcMember } from "./irc-member";
import type { IrcServer } from "./irc-server";

/** Limits on lines that keep the test short, but leave time to kill the bridge in the middle of a message. */
const PRINTING = { IRC_BURST_LINES: "1", IRC_LINE_MS: "300" };
const PACE = { QUESTION_SECONDS: "60", REVEAL_SECONDS: "8", LOBBY_SECONDS: "120" };

/**
 * Settings of the bridge's limits on lines, and of the game's pace. Empty settings select the defaults of the programs.
 */
interface Limits {
  readonly printing?: Readonly<Record<string, string>>;
  readonly pace?: Readonly<Record<string, string>>;
}

/**
 * Starts the service, the trivia game, and a bridge between a workspace and the channel #games of an IRC server. The
 * service, the game, the bridge and the server can each be killed and restarted.
 */
export async function openStage(
  server: IrcServer,
  folder: string,
  more: Readonly<Record<string, string>> = {},
  { printing = PRINTING, pace = PACE }: Limits = {},
) {
  const stage = await openBridgeStage({
    chat: "irc",
    folder,
    pace,
    chatSettings: {
      IRC_HOST: server.host,
      IRC_PORT: String(server.port),
      ...(server.caPath === undefined ? { IRC_TLS: "off" } : { IRC_CA: server.caPath }),
      IRC_CHANNELS: "games",
      ...printing,
      ...more,
    },
  });
  const { settings } = stage;
  const members: IrcMember[] = [];

  return {
    ...stage,
    get bridge() {
      return stage.bridge;
    },
    /** Whether the server has confirmed all lines of the message that the bridge has printed last. */
    hasConfirmed(): boolean {
      const lines = readFileSync(join(settings.STATE_FOLDER, "printed.jsonl"), "utf8").trim().split("\n");
      const record = JSON.parse(lines.at(-1) ?? "{}") as { r?: { printed?: unknown; waiting?: unknown } };
      return record.r?.printed !== undefined && record.r.waiting === undefined;
    },
    async join(...nicks: readonly string[]): Promise<readonly IrcMember[]> {
      const joined = await Promise.all(nicks.map((nick) => joinIrc(server, nick, "#games")));
      members.push(...joined);
      return joined;
    },
    async close(): Promise<void> {
      for (const member of members) member.leave();
      await stage.closeStage();
      await server.stop("SIGKILL");
    },
  };
}
