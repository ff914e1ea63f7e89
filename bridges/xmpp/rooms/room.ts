import { CannotShow, RetryLater } from "chat-bridge-kit";
import type { Logger, RoomState } from "chat-bridge-runner";
import type { Element } from "ltx";
import { readJid } from "../jid";
import {
  cancelRoom,
  delayedAtMs,
  joinPresence,
  leavePresence,
  NS,
  occupantId,
  statusCodes,
} from "../stanzas";
import { Occupants } from "./occupants";
import { isTemporary, refusalOf, whyNotJoined } from "./refusal";
import { RoomMessages, type RoomLink } from "./room-messages";
import { moved, removalOf, type State } from "./room-state";

export interface RoomOptions {
  readonly jid: string;
  readonly password: string | undefined;
  /** The nick that the bridge tries first. */
  readonly nick: string;
  /** Whether the settings list the room. The bridge rejoins such a room after a kick. */
  readonly isConfigured: boolean;
  readonly link: RoomLink;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Returns the number of seconds of history that the room repeats when the bridge joins. */
  historySeconds(): number;
  /** Called with each message from a member. `atMs` is the original time of a repeated message. */
  onLine(room: Room, message: Element, atMs: number | undefined): void;
  /** Called when the bridge has joined, and the room has repeated its history. */
  onJoined(): void;
  /** Called when the bridge must not join the room again, e.g. because it was kicked from an invited room. */
  onForget(room: Room): void;
}

/** Milliseconds before the bridge joins again, after the first failure, the second failure, … */
const REJOIN_MS = [1_000, 5_000, 15_000, 60_000, 300_000];
const REJOIN_FINAL_MS = 60_000;
/** Milliseconds in a room after which an earlier failure no longer counts. */
const CALM_MS = 600_000;
/**
 * Milliseconds after which a join counts as complete or failed if the room has not sent its subject, which normally
 * ends the join.
 */
const JOIN_WITHIN_MS = 10_000;
/**
 * Milliseconds for which a message waits until the bridge has joined, so that the first messages after a start are not
 * refused.
 */
const SOON_MS = 20_000;
const RETRY_MS = 1_000;
const NICKS_TRIED = 4;

/** A room that the bridge is in, or should be in. */
export class Room {
  readonly jid: string;
  readonly occupants: Occupants;
  readonly isConfigured: boolean;
  readonly password: string | undefined;
  readonly #options: RoomOptions;
  readonly #messages: RoomMessages;
  /** Functions that are called when the bridge has joined the room. */
  readonly #waiting = new Set<() => void>();
  #state: State = { type: "offline", wasJoined: false };
  #nick: string;
  #nickTries = 0;
  #hasVoice = true;
  #failures = 0;
  #joinedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Time of the last stanza from the room, on the clock of `performance`. */
  #heardAtMs = 0;

  constructor(options: RoomOptions) {
    this.jid = options.jid;
    this.isConfigured = options.isConfigured;
    this.password = options.password;
    this.occupants = new Occupants(options.jid);
    this.#options = options;
    this.#nick = options.nick;
    this.#messages = new RoomMessages({
      room: options.jid,
      link: options.link,
      address: () => this.#address(),
      isJoined: () => this.isJoined,
      onForgotten: () => this.#out("the room no longer lists the bridge", false),
    });
  }

  get isJoined(): boolean {
    return this.#state.type === "joined";
  }

  /** Whether the room lets the bridge speak. */
  get hasVoice(): boolean {
    return this.#hasVoice;
  }

  get name(): string {
    return readJid(this.jid).local;
  }

  get quietMs(): number {
    return performance.now() - this.#heardAtMs;
  }

  get state(): RoomState {
    return { id: this.jid, name: this.name, problem: this.#problem() };
  }

  #problem(): string | undefined {
    switch (this.#state.type) {
      case "offline":
        return "not connected";
      case "joining":
        return "joining";
      case "out":
        return this.#state.problem;
      case "gone":
        return "left";
      case "joined":
        return this.#hasVoice
          ? undefined
          : `the bridge has no voice in the room: a moderator must give voice to "${this.#nick}"`;
    }
  }

  /** Joins the room. Forgets the occupants and the pending messages of an earlier session. */
  join(): void {
    this.#to({ type: "joining", isPresent: false });
    this.#messages.refuseAll("the bridge is joining the room again");
    this.occupants.clear();
    this.#later(JOIN_WITHIN_MS, () => this.#onJoinTimeout());
    const { link, password, historySeconds } = this.#options;
    // If the connection is lost meanwhile, the next session joins again.
    link.send(joinPresence(this.#address(), password, historySeconds())).catch(() => undefined);
  }

  /** Called when a member invites the bridge. The problem that kept the bridge out of the room may be solved. */
  invited(): void {
    if (this.#state.type === "out") this.join();
  }

  /** Called when the connection is lost. The session can be resumed. */
  disconnected(): void {
    clearTimeout(this.#timer);
    const { type } = this.#state;
    this.#to({ type: "offline", wasJoined: type === "joined" });
  }

  /** Called when the session is resumed. */
  resumed(): void {
    if (this.#state.type !== "offline") return;
    if (this.#state.wasJoined) this.#to({ type: "joined" });
    else this.join();
  }

  /** Leaves the room for good. */
  leave(): void {
    clearTimeout(this.#timer);
    if (this.isJoined) this.#options.link.send(leavePresence(this.#address())).catch(() => undefined);
    this.#to({ type: "gone" });
    this.#messages.refuseAll("the bridge has left the room");
  }

  /** Reads a presence or a message of the room. */
  read(stanza: Element): void {
    if (this.#state.type === "gone" || this.#state.type === "offline") return;
    this.#heardAtMs = performance.now();
    if (stanza.name === "presence") this.#onPresence(stanza);
    if (stanza.name === "message") this.#onMessage(stanza);
  }

  /** Sends a message to everybody: see `RoomMessages.post`. */
  async post(id: string, text: string, signal: AbortSignal, replaces?: string): Promise<void> {
    await this.#ready(signal);
    if (!this.#hasVoice) throw new CannotShow(this.#problem());
    await this.#messages.post(id, text, signal, replaces);
  }

  /** Sends a message to one member: see `RoomMessages.whisper`. */
  async whisper(
    id: string,
    nick: string,
    text: string,
    signal: AbortSignal,
    replaces?: string,
  ): Promise<void> {
    await this.#ready(signal);
    await this.#messages.whisper(id, nick, text, signal, replaces);
  }

  /** Asks the room whether the bridge is still in it. Joins again if the bridge is not in the room. */
  ask(): Promise<void> {
    return this.#messages.ask();
  }

  /** Resolves when the room is joined, or when `signal` is aborted. */
  async untilJoined(signal: AbortSignal): Promise<void> {
    if (this.isJoined || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      signal.addEventListener("abort", () => this.#waiting.delete(resolve), { once: true });
    });
  }

  /**
   * Resolves if the bridge is in the room, or joins it soon. Otherwise, rejects with an error that tells the kit
   * whether to retry.
   */
  async #ready(signal: AbortSignal): Promise<void> {
    const isJoining = this.#state.type === "joining" || this.#state.type === "offline";
    if (isJoining) await this.untilJoined(AbortSignal.any([signal, AbortSignal.timeout(SOON_MS)]));
    const state = this.#state;
    if (state.type === "joined") return;
    const problem = this.#problem();
    if (state.type === "gone" || (state.type === "out" && state.isFinal)) throw new CannotShow(problem);
    throw new RetryLater(RETRY_MS, `the bridge is not in the room: ${problem ?? ""}`);
  }

  #onPresence(presence: Element): void {
    const { from = "", type } = presence.attrs;
    const { resource: nick } = readJid(from);
    const codes = statusCodes(presence);
    if (type === "error") return this.#onRefusedJoin(presence);
    if (nick === this.#nick || codes.has("110")) return this.#onOwnPresence(presence, nick, codes);
    const item = presence.getChild("x", NS.mucUser)?.getChild("item")?.attrs ?? {};
    if (type === undefined) {
      this.occupants.put({ nick, occupantId: occupantId(presence), jid: item["jid"] });
    } else if (type === "unavailable") {
      const next = codes.has("303") ? item["nick"] : undefined;
      if (next === undefined) this.occupants.remove(nick);
      else this.occupants.rename(nick, next);
    }
  }

  #onOwnPresence(presence: Element, nick: string, codes: ReadonlySet<string>): void {
    const x = presence.getChild("x", NS.mucUser);
    const item = x?.getChild("item")?.attrs ?? {};
    if (presence.attrs["type"] === "unavailable") {
      if (codes.has("303")) this.#nick = item["nick"] ?? this.#nick;
      else this.#onRemoved(codes, x?.getChild("destroy") !== undefined);
      return;
    }
    this.#nick = nick;
    if (codes.has("100")) this.occupants.showAccounts();
    if (codes.has("201")) return this.#onCreated();
    if (this.#state.type === "joining") this.#to({ type: "joining", isPresent: true });
    this.#onRole(item["role"]);
  }

  #onRole(role: string | undefined): void {
    if (role === undefined) return;
    const hasVoice = role !== "visitor";
    if (hasVoice === this.#hasVoice) return;
    this.#hasVoice = hasVoice;
    const room = this.jid;
    if (hasVoice) this.#options.log.info({ room }, "the bridge may speak in the room again");
    else
      this.#options.log.warn({ room }, "the bridge has no voice in the room: a moderator must give it voice");
  }

  /**
   * The room did not exist, and the server created it for the bridge. A member must create the room, because the bridge
   * would be its only owner.
   */
  #onCreated(): void {
    this.#options.link.request(cancelRoom(this.jid)).catch(() => undefined);
    this.#out(whyNotJoined({ condition: "item-not-found", type: "cancel" }), true);
  }

  #onRefusedJoin(presence: Element): void {
    if (this.#state.type !== "joining") return;
    const refusal = refusalOf(presence);
    if (refusal.condition === "conflict" && this.#nickTries < NICKS_TRIED) {
      this.#nickTries += 1;
      this.#nick += "_";
      return this.join();
    }
    this.#out(whyNotJoined(refusal), !isTemporary(refusal));
  }

  #onRemoved(codes: ReadonlySet<string>, isDestroyed: boolean): void {
    const { problem, isFinal, isMeant } = removalOf(codes, isDestroyed);
    if (isMeant && !this.isConfigured) {
      this.#options.log.info({ room: this.jid, problem }, "left a room to which the bridge was invited");
      this.leave();
      this.#options.onForget(this);
      return;
    }
    this.#out(problem, isFinal);
  }

  #onMessage(message: Element): void {
    const { from = "", id = "", type } = message.attrs;
    if (type === "error") return this.#messages.onError(message);
    if (type !== "groupchat") return;
    this.#onConfiguration(message);
    const { resource: nick } = readJid(from);
    const atMs = delayedAtMs(message);
    const hasBody = message.getChild("body") !== undefined;
    // The history ends with the room's subject, or with the first new message.
    const isLive = atMs === undefined || (message.getChild("subject") !== undefined && !hasBody);
    if (isLive && this.#state.type === "joining" && this.#state.isPresent) this.#onJoined();
    if (hasBody && nick === this.#nick) {
      this.#messages.onShown(id);
    } else if (hasBody && nick !== "") {
      this.#options.onLine(this, message, atMs);
    }
  }

  /** The room announces when it begins (172) or ceases (173) to show all accounts. */
  #onConfiguration(message: Element): void {
    const codes = statusCodes(message);
    if (!codes.has("172") && !codes.has("173")) return;
    // The presences that the room sends at the next join match the new setting.
    if (this.isJoined) this.join();
  }

  #onJoined(): void {
    clearTimeout(this.#timer);
    if (performance.now() - this.#joinedAtMs > CALM_MS) this.#failures = 0;
    this.#joinedAtMs = performance.now();
    this.#nickTries = 0;
    this.#to({ type: "joined" });
    this.#options.log.info({ room: this.jid }, "joined a room");
    this.#options.onJoined();
    for (const done of this.#waiting) done();
    this.#waiting.clear();
  }

  #onJoinTimeout(): void {
    if (this.#state.type !== "joining") return;
    if (this.#state.isPresent) this.#onJoined();
    else this.#out("the room does not answer", false);
  }

  /** The bridge is not in the room. Joins again later. */
  #out(problem: string, isFinal: boolean): void {
    const isNew = this.#state.type !== "out" || this.#state.problem !== problem;
    this.#to({ type: "out", problem, isFinal });
    if (isNew) this.#options.log.warn({ room: this.jid, problem }, "cannot join a room");
    this.#messages.refuseAll(problem);
    const waitMs = isFinal
      ? REJOIN_FINAL_MS
      : (REJOIN_MS[Math.min(this.#failures, REJOIN_MS.length - 1)] ?? REJOIN_FINAL_MS);
    this.#failures += 1;
    this.#nick = this.#options.nick;
    this.#nickTries = 0;
    this.#later(waitMs, () => this.join());
  }

  #later(ms: number, run: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, ms);
  }

  #address(): string {
    return `${this.jid}/${this.#nick}`;
  }

  #to(next: State): void {
    this.#state = moved(this.#state, next);
  }
}
