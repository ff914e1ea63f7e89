import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../events";
import { isObject, readJson } from "../../read-event";
import { sign, SIGNATURE_HEADER } from "../../signature";
import type { HttpClient } from "../http-client";
import { Broken, noReply } from "../rule";
import { quoted, TEXT_START, wordOf } from "./event-maker";
import { judgePlace, readShown, wrongLooks, type ShownEvent, type ShownMessage } from "./shown-message";

export interface ObservedChatOptions {
  /** The bridge's observation endpoint. */
  readonly url: URL;
  readonly client: HttpClient;
  readonly secrets: readonly string[];
  /** Time limit for showing a message, ms. */
  readonly withinMs: number;
}

/** Wait between two reads of the endpoint, ms. */
const LOOK_EVERY_MS = 100;

export function createObservedChat(options: ObservedChatOptions): ObservedChat {
  return new ObservedChat(options);
}

/** The messages that the chat shows, read from the bridge's observation endpoint. */
export class ObservedChat {
  readonly #options: ObservedChatOptions;
  readonly #listed = { buttons: false, image: false };
  #hasEdits = true;

  constructor(options: ObservedChatOptions) {
    this.#options = options;
  }

  /** Whether the chat can edit messages, according to the endpoint's last answer. */
  get hasEdits(): boolean {
    return this.#hasEdits;
  }

  async read(): Promise<readonly ShownMessage[]> {
    const { url, client, secrets } = this.#options;
    const headers = { [SIGNATURE_HEADER]: sign(url.search.slice(1), secrets) };
    const reply = await client.call({ method: "GET", path: url.pathname + url.search, headers });
    if ("failed" in reply) throw noReply(url.href, reply, "--observe");
    if (reply.status !== 200) throw new Broken(`${url.href} answered with ${reply.status}, not 200`);
    const json = readJson(reply.body);
    const messages = readShown(json);
    if ("fault" in messages) throw new Broken(`${url.href} ${messages.fault}`);
    this.#hasEdits = !(isObject(json) && json["edits"] === false);
    this.#listed.buttons ||= messages.some(({ buttons }) => buttons !== undefined);
    this.#listed.image ||= messages.some(({ image }) => image !== undefined);
    return messages;
  }

  /** Waits until the message is shown once, in the right place, to the right members, with its buttons and image. */
  async shows(event: ShownEvent): Promise<void> {
    // A bridge may need separate calls to the chat for the text, the buttons and the image, so a fault can be
    // temporary.
    const fault = await this.#retried(
      () => this.#faultOf(event),
      (each) => each === undefined,
    );
    if (fault !== undefined) throw fault;
  }

  /**
   * Waits until the chat shows the message in any channel. Resolves to undefined if the message is not shown in time.
   */
  find(message: Message): Promise<ShownMessage | undefined> {
    return this.#retried(
      async () => (await this.#findAll(message))[0],
      (shown) => shown !== undefined,
    );
  }

  /**
   * Resolves to the text that is shown for a message, starting at the message's unique word. If the chat splits the
   * text into several messages, the result joins them with a space.
   */
  async textOf(message: Message): Promise<string> {
    const messages = await this.read();
    const word = wordOf(message);
    const at = messages.findIndex(({ text }) => text.includes(word));
    const [first, ...later] = messages
      .slice(Math.max(0, at))
      .filter(({ channel }) => channel === messages[at]?.channel);
    if (first === undefined) return "";
    // A shown message without `TEXT_START` is a continuation of the message before it.
    const end = later.findIndex(({ text }) => text.includes(TEXT_START));
    const texts = [first, ...later.slice(0, end === -1 ? undefined : end)].map(({ text }) => text);
    const whole = texts.join("\n");
    return whole.slice(whole.indexOf(word)).replaceAll(/[ \n]+/g, " ");
  }

  /** Resolves to the number of shown messages that contain the unique word of `message`. */
  async countOf(message: Message): Promise<number> {
    return (await this.#findAll(message)).length;
  }

  /**
   * Calls `look` until `isDone` returns true for its result, or until `withinMs` has passed. Resolves to the last
   * result.
   */
  async #retried<Seen>(look: () => Promise<Seen>, isDone: (seen: Seen) => boolean): Promise<Seen> {
    const end = performance.now() + this.#options.withinMs;
    for (;;) {
      const seen = await look();
      if (isDone(seen) || performance.now() > end) return seen;
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #findAll(message: Message): Promise<readonly ShownMessage[]> {
    return (await this.read()).filter(({ text }) => text.includes(wordOf(message)));
  }

  /**
   * Returns a fault that can still disappear; undefined for none. Throws Broken for a permanent fault: a second post or
   * a wrong place.
   */
  async #faultOf(event: ShownEvent): Promise<Broken | undefined> {
    const text = quoted(event.message);
    const [shown, ...more] = await this.#findAll(event.message);
    if (more.length > 0) throw new Broken(`${text} is shown ${more.length + 1} times`);
    if (shown === undefined) {
      return new Broken(`${text} was not shown within ${this.#options.withinMs / 1000} seconds`);
    }
    judgePlace(shown, event);
    return wrongLooks(shown, event, this.#listed);
  }
}
