import type { Bridge, BridgeStatus, CommandReport } from "chat-bridge-kit";
import type { BridgeSettings } from "./bridge-settings";
import type { RoomState } from "./rooms";

/** The facts about a bridge that a member may know. */
export interface StatusFacts {
  /** Name and version of the program. */
  readonly program: string;
  /** The id of the member's room. */
  readonly here: string;
  readonly rooms: readonly RoomState[];
  readonly service: BridgeStatus;
}

export interface StatusOptions {
  readonly program: string;
  readonly settings: Pick<BridgeSettings, "STATUS_COMMAND">;
  rooms(): readonly RoomState[];
  /** Shows the text to the member, and to nobody else if the chat supports private answers. */
  answer(text: string, report: CommandReport): void;
}

/** Minimum milliseconds between two answers to a member. */
const ANSWER_GAP_MS = 10_000;
const MEMBERS_NOTED = 1_000;

/**
 * Returns a bridge that answers the command `STATUS_COMMAND` itself, and reports all other commands to the service. So
 * members get the status even while the service is unreachable.
 */
export function withStatus<Kit extends Pick<Bridge, "command" | "status">>(
  bridge: Kit,
  options: StatusOptions,
): Kit {
  const { program, settings, rooms, answer } = options;
  const answeredAt = new Map<string, number>();
  const isTooEarly = (member: string): boolean => {
    const now = performance.now();
    if (now - (answeredAt.get(member) ?? -Infinity) < ANSWER_GAP_MS) return true;
    if (answeredAt.size >= MEMBERS_NOTED) answeredAt.clear();
    answeredAt.set(member, now);
    return false;
  };
  const command: Bridge["command"] = async (report) => {
    if (!isStatusCommand(report.text, settings)) return bridge.command(report);
    const { channel, user } = report;
    if (!isTooEarly(idOf(user))) {
      answer(statusText({ program, here: idOf(channel), rooms: rooms(), service: bridge.status }), report);
    }
    return { outcome: "accepted", id: report.id ?? "", attempts: 0 };
  };
  return Object.create(bridge, { command: { value: command } }) as Kit;
}

/** Returns whether the text after the command word asks for the status of the bridge. */
export function isStatusCommand(text: string, { STATUS_COMMAND: word }: StatusOptions["settings"]): boolean {
  return word !== "off" && text.trim().toLowerCase() === word.toLowerCase();
}

/**
 * Returns one line of text for a member. The line does not name other rooms, and does not contain the address of the
 * service.
 */
export function statusText({ program, here, rooms, service }: StatusFacts): string {
  const room = rooms.find(({ id }) => id === here);
  const writable = rooms.filter(({ problem }) => problem === undefined).length;
  const fault = serviceFault(service);
  const waiting = service.waiting.find(({ channel }) => channel === here);
  return [
    `${program}.`,
    hereText(room, fault),
    waiting && "Messages for this room wait, because the chat refuses them.",
    rooms.length > 1 &&
      `${fault === undefined ? "Games work" : "The bridge can write"} in ${writable} of ${rooms.length} rooms of this bridge.`,
    fault === undefined && "The game service is connected.",
  ]
    .filter((each) => typeof each === "string")
    .join(" ");
}

/** Returns what the bridge can do in the member's room, and what is wrong with the service, as text. */
function hereText(room: RoomState | undefined, fault: string | undefined): string | undefined {
  if (room?.problem !== undefined) {
    return [`Games do not work here: ${room.problem}.`, fault && `The ${fault}.`].filter(Boolean).join(" ");
  }
  if (fault === undefined) return room && "Games work here.";
  return room === undefined ? `The ${fault}.` : `The bridge can write here, but the ${fault}.`;
}

/** Returns why games do not work, without the address of the service; undefined if the service is connected. */
function serviceFault({ isConnected, lastContactAt, problem = "" }: BridgeStatus): string | undefined {
  if (isConnected) return undefined;
  const isRefused = /\b40[0-9]\b/.test(problem);
  if (lastContactAt === undefined) {
    return `game service ${isRefused ? "rejects this bridge" : "does not answer"}`;
  }
  const since = `since ${lastContactAt.toISOString().slice(11, 16)} UTC`;
  return `game service ${isRefused ? "has rejected this bridge" : "has not answered"} ${since}`;
}

function idOf(named: string | { readonly id: string }): string {
  return typeof named === "string" ? named : named.id;
}
