import { setTimeout as sleep } from "node:timers/promises";
import { certificateAdvice, type BridgeInit, type Finding, type Logger } from "chat-bridge-runner";
import type { Element } from "ltx";
import { XmppConnection } from "./connection/xmpp-connection";
import { bareJid, readJid } from "./jid";
import { Room } from "./rooms/room";
import type { WantedRoom, XMPP_SETTINGS, XmppSettings } from "./settings";

/** The questions and the check of `chat-bridge-xmpp init`. */
export const XMPP_INIT: BridgeInit<typeof XMPP_SETTINGS> = {
  questions: [
    { name: "XMPP_JID" },
    { name: "XMPP_PASSWORD" },
    { name: "XMPP_SERVER" },
    { name: "XMPP_CA" },
    { name: "XMPP_NICK" },
    { name: "XMPP_ROOMS" },
    {
      name: "XMPP_ALLOW_INVITES",
      // A bridge without rooms that nobody may invite would never be in a room.
      standard: ({ XMPP_ROOMS: rooms, XMPP_JID: account = "" }) =>
        rooms === undefined ? readJid(account).domain : undefined,
    },
  ],
  check: checkXmpp,
};

const WITHIN_MS = 30_000;
const LOGIN_ADVICE = "check XMPP_JID and its password; set XMPP_SERVER if DNS does not lead to the server";

/** Logs in like the bridge, and joins each room. Yields each finding. */
async function* checkXmpp(settings: XmppSettings): AsyncGenerator<Finding> {
  const rooms = new Map<string, Room>();
  const up = firstOf<string | undefined>();
  const connection = new XmppConnection({
    settings,
    log: logTo(up.resolve),
    onUp: () => up.resolve(undefined),
    onDown: () => undefined,
    onStanza: (stanza: Element) => rooms.get(bareJid(stanza.attrs["from"] ?? ""))?.read(stanza),
  });
  try {
    connection.open();
    const problem = await withinLimit(up.promise, "the server does not answer");
    if (problem !== undefined) {
      yield {
        is: "problem",
        text: `cannot log in as ${settings.XMPP_JID}: ${problem}`,
        advice: [certificateAdvice(problem, "XMPP_CA") ?? LOGIN_ADVICE],
      };
      return;
    }
    yield { is: "ok", text: `logged in as ${settings.XMPP_JID}` };
    if (settings.XMPP_ROOMS.length === 0) yield waitsFor(settings.XMPP_ALLOW_INVITES);
    for (const wanted of settings.XMPP_ROOMS) yield await checkRoom(wanted, settings, connection, rooms);
  } finally {
    for (const room of rooms.values()) room.leave();
    await connection.close();
  }
}

function waitsFor(inviters: readonly string[]): Finding {
  return {
    is: "note",
    text: `no rooms: the bridge waits for invitations from ${inviters.join(", ").replace(/^\*$/, "everyone")}`,
    advice: ["an invitation from a room that hides accounts names only the room: add the room or its domain"],
  };
}

async function checkRoom(
  { jid, password }: WantedRoom,
  { XMPP_NICK: nick }: XmppSettings,
  link: XmppConnection,
  rooms: Map<string, Room>,
): Promise<Finding> {
  const joined = firstOf<string | undefined>();
  const room = new Room({
    jid,
    password,
    nick,
    isConfigured: true,
    link,
    log: logTo(joined.resolve),
    historySeconds: () => 0,
    onLine: () => undefined,
    onJoined: () => joined.resolve(undefined),
    onForget: () => undefined,
  });
  rooms.set(jid, room);
  room.join();
  const problem = (await withinLimit(joined.promise, "the room does not answer")) ?? room.state.problem;
  return problem === undefined
    ? { is: "ok", text: `joined ${jid}, and may speak` }
    : { is: "problem", text: `cannot play in ${jid}: ${problem}` };
}

/** Returns a log that calls `onProblem` with the problem of the first warning. */
function logTo(onProblem: (problem: string) => void): Pick<Logger, "info" | "warn" | "error"> {
  const ignore = (): void => undefined;
  const warn = (fields: { problem?: string } | string): void => {
    if (typeof fields === "object" && fields.problem !== undefined) onProblem(fields.problem);
  };
  return { info: ignore, warn, error: ignore } as Pick<Logger, "info" | "warn" | "error">;
}

async function withinLimit(result: Promise<string | undefined>, late: string): Promise<string | undefined> {
  const over = new AbortController();
  const waited = sleep(WITHIN_MS, late, { signal: over.signal }).catch(() => late);
  return Promise.race([result, waited]).finally(() => over.abort());
}

/** Returns a promise, and the function that resolves it. (Node 20 has no `Promise.withResolvers`.) */
function firstOf<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
