import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../events";
import { isObject, readJson } from "../../read-event";
import { sign, SIGNATURE_HEADER } from "../../signature";
import type { HttpClient } from "../http-client";
import { Broken, noReply } from "../rule";
import { quoted, TEXT_START, wordOf } from "./event-maker";
import { judgePlace, wrongLooks, type ShownEvent } from "./judge-shown";
import { readShown, type ShownMessage } from "./shown-message";

/** The messages that the chat shows, read from the bridge's observation endpoint. */
export interface ObservedChat {
  read(): Promise<readonly ShownMessage[]>;
  /** Whether the chat can edit messages, according to the endpoint's last answer. */
  readonly hasEdits: boolean;
  /** Waits until the message is shown once, in the right place, to the right members, with its buttons and image. */
  shows(event: ShownEvent): Promise<void>;
  /** Waits until the message is shown anywhere. Resolves to undefined if the message is not shown in time. */
  find(message: Message): Promise<ShownMessage | undefined>;
  /**
   * Resolves to the text that is shown for a message, from its unique word on. If the chat breaks the text into several
   * messages, the result has a space between them.
   */
  textOf(message: Message): Promise<string>;
  /** Resolves to the number of shown messages that have the unique word of `message`. */
  countOf(message: Message): Promise<number>;
}

/** Wait between two reads of the endpoint, ms. */
const LOOK_EVERY_MS = 100;

export function createObservedChat(options: {
  readonly url: URL;
  readonly client: HttpClient;
  readonly secrets: readonly string[];
  /** Time limit for showing a message, ms. */
  readonly withinMs: number;
}): ObservedChat {
  const { url, client, secrets, withinMs } = options;
  const query = url.search.slice(1);
  const listed = { buttons: false, image: false };
  let hasEdits = true;

  async function read(): Promise<readonly ShownMessage[]> {
    const headers = { [SIGNATURE_HEADER]: sign(query, secrets) };
    const reply = await client.call({ method: "GET", path: url.pathname + url.search, headers });
    if ("failed" in reply) throw noReply(url.href, reply, "--observe");
    if (reply.status !== 200) throw new Broken(`${url.href} answered with ${reply.status}, not 200`);
    const json = readJson(reply.body);
    const messages = readShown(json);
    if ("fault" in messages) throw new Broken(`${url.href} ${messages.fault}`);
    hasEdits = !(isObject(json) && json["edits"] === false);
    listed.buttons ||= messages.some(({ buttons }) => buttons !== undefined);
    listed.image ||= messages.some(({ image }) => image !== undefined);
    return messages;
  }

  const findAll = async (message: Message) =>
    (await read()).filter(({ text }) => text.includes(wordOf(message)));

  /**
   * Returns a fault that can still disappear; undefined for none. Throws Broken for a permanent fault: a second post or
   * a wrong place.
   */
  async function missing(event: ShownEvent): Promise<Broken | undefined> {
    const text = quoted(event.message);
    const [shown, ...more] = await findAll(event.message);
    if (more.length > 0) throw new Broken(`${text} is shown ${more.length + 1} times`);
    if (shown === undefined) return new Broken(`${text} was not shown within ${withinMs / 1000} seconds`);
    judgePlace(shown, event);
    return wrongLooks(shown, event, listed);
  }

  return {
    read,
    get hasEdits() {
      return hasEdits;
    },
    async find(message) {
      const end = performance.now() + withinMs;
      for (;;) {
        const [shown] = await findAll(message);
        if (shown !== undefined || performance.now() > end) return shown;
        await sleep(LOOK_EVERY_MS);
      }
    },
    async textOf(message) {
      const messages = await read();
      const word = wordOf(message);
      const at = messages.findIndex(({ text }) => text.includes(word));
      const [first, ...later] = messages
        .slice(Math.max(0, at))
        .filter(({ channel }) => channel === messages[at]?.channel);
      if (first === undefined) return "";
      // A message without the words of the check continues the message before it.
      const end = later.findIndex(({ text }) => text.includes(TEXT_START));
      const texts = [first, ...later.slice(0, end === -1 ? undefined : end)].map(({ text }) => text);
      const whole = texts.join("\n");
      return whole.slice(whole.indexOf(word)).replaceAll(/[ \n]+/g, " ");
    },
    countOf: async (message) => (await findAll(message)).length,
    async shows(event) {
      const end = performance.now() + withinMs;
      for (;;) {
        // A chat may need separate calls for the text, the buttons and the image, so a fault can be temporary.
        const fault = await missing(event);
        if (fault === undefined) return;
        if (performance.now() > end) throw fault;
        await sleep(LOOK_EVERY_MS);
      }
    },
  };
}
