import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { DmCreate, EventHead, Message, MessageCreate } from "../../events";
import { createHttpClient, type ClientOptions, type HttpClient } from "../http-client";
import { Broken, NO_PROGRESS, type CheckProgress, type Judged } from "../rule";
import { createEventMaker, quoted, type EventMaker } from "./event-maker";
import { createObservedChat, type ObservedChat } from "./observed-chat";
import type { ShownEvent } from "./shown-message";

/** The options that the check of pushes and the check of polls share. */
export interface EventCheckOptions extends Omit<ClientOptions, "timeoutMs"> {
  /** The bridge's signing secrets, the newest first. */
  readonly secrets: readonly string[];
  /** The bridge's observation endpoint, which returns `{"messages": ShownMessage[]}`; undefined if there is none. */
  readonly observe?: URL;
  /** UUID of the workspace of the events; random by default. */
  readonly workspace?: string;
  /** Channel of the messages; `chat-bridge-check` by default. */
  readonly channel?: string;
  /** User who gets ephemerals and DMs; `chat-bridge-check-user` by default. */
  readonly user?: string;
  /** Time limit for showing a message, ms; 10,000 by default. */
  readonly withinMs?: number;
  /** Ids of the rules to check; all rules by default. Gates (`Rule.isGate`) are always checked. */
  readonly only?: readonly string[];
  readonly progress?: CheckProgress;
}

/** Extra time for a bridge to show earlier events after it has shown a later event, ms. */
const GRACE_MS = 300;

/**
 * A bridge that is being checked, with helpers for the rules about events. The rules about events apply to pushes and
 * to polls. Rules destructure the helpers.
 */
export abstract class EventTarget {
  readonly make: EventMaker;
  readonly workspace: string;
  readonly secrets: readonly string[];
  /** Whether the command line gave a channel or a user for the events. */
  readonly isPlaceGiven: boolean;
  /** The observed chat; undefined without an observation endpoint, or after the endpoint has failed. */
  chat: ObservedChat | undefined;
  readonly #looker: HttpClient | undefined;
  readonly #progress: CheckProgress;

  /** @param observeTimeoutMs time limit for an answer of the observation endpoint, ms */
  constructor(options: EventCheckOptions, observeTimeoutMs: number) {
    const { secrets, observe, workspace = randomUUID(), withinMs = 10_000, progress = NO_PROGRESS } = options;
    const { channel = "chat-bridge-check", user = "chat-bridge-check-user" } = options;
    this.make = createEventMaker({ workspace, channel, user });
    this.workspace = workspace;
    this.secrets = secrets;
    this.isPlaceGiven = options.channel !== undefined || options.user !== undefined;
    this.#progress = progress;
    if (observe === undefined) return;
    const client = createHttpClient(observe, { ...options, timeoutMs: observeTimeoutMs });
    this.#looker = client;
    this.chat = createObservedChat({ url: observe, client, secrets, withinMs });
  }

  /** Delivers an event to the bridge, and throws Broken unless the bridge accepts the event in time. */
  abstract readonly taken: (event: EventHead, what: string) => Promise<unknown>;

  /**
   * Sends a create, so that later events can update its message. With an observation endpoint, waits until the message
   * is shown.
   */
  readonly createdFirst = async <Event extends MessageCreate | DmCreate>(event: Event): Promise<Event> => {
    await this.taken(event, `a ${event.type}`);
    await this.chat?.shows(event);
    return event;
  };

  /** Waits until the bridge has shown all events that it accepted so far. */
  readonly settled = async (chat: ObservedChat): Promise<void> => {
    const marker = this.make.create("a marker after all earlier events");
    await this.taken(marker, "a create");
    await chat.shows(marker);
    await sleep(GRACE_MS);
  };

  /**
   * Waits until the bridge has shown all events that it accepted so far, and throws Broken if any of `messages` is
   * shown.
   */
  readonly hides = async (chat: ObservedChat, messages: readonly Message[], why: string): Promise<void> => {
    await this.settled(chat);
    for (const message of messages) {
      if ((await chat.countOf(message)) > 0) throw new Broken(`${quoted(message)} is shown, although ${why}`);
    }
  };

  /**
   * Waits until the event is shown. Without an observation endpoint, returns `unchecked`, which names the part that was
   * not checked.
   */
  readonly judgeShown = async (event: ShownEvent, unchecked: string): Promise<Judged> => {
    if (this.chat === undefined) return { unchecked };
    await this.chat.shows(event);
    return undefined;
  };

  /** Waits `ms` milliseconds, and reports that the check is waiting for `what`. */
  readonly pause = async (ms: number, what: string): Promise<void> => {
    this.waiting(what);
    await sleep(ms);
  };

  /** Reports that the check waits for `what`. */
  protected waiting(what: string): void {
    this.#progress.waiting(what);
  }

  /** Closes the connections to the bridge. */
  close(): void {
    this.#looker?.close();
  }
}
