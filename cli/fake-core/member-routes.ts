import type { FastifyInstance } from "fastify";
import type { ActsIn, FakeChat, MessageFilter } from "./fake-chat";
import { listMessages, messageJson } from "./message-lines";
import { Refused } from "./refused";
import { closedSignal, COUNT, fields, NAME, readWait, TEXT, WAIT } from "./routes";

/** Maximum number of messages in an answer. Only the newest messages are returned. */
const MESSAGES_MAX = 1_000;
const WHERE = { workspace: NAME, channel: NAME, name: NAME };

type Acts<Body> = { Params: { member: string }; Body: Body & ActsIn };
interface Press {
  readonly label?: string;
  readonly messageId?: string;
  /** The action of a forged or outdated button. */
  readonly action?: string;
}
interface Query extends Omit<MessageFilter, "after"> {
  readonly after?: string;
  readonly wait?: string;
}

/** Adds the calls with which members act, and the calls that return what the chat shows. */
export function addMemberRoutes(app: FastifyInstance, chat: FakeChat): void {
  const typing = fields("body", { text: TEXT, ...WHERE }, ["text"]);
  for (const act of ["types", "dms", "replies"] as const) {
    app.post<Acts<{ text: string }>>(`/members/:member/${act}`, typing, async ({ params, body }) => {
      const { position } = chat;
      chat[act](params.member, body.text, body);
      return { position };
    });
  }
  const press = { label: NAME, messageId: NAME, action: { ...TEXT, minLength: 1 }, ...WHERE };
  app.post<Acts<Press>>("/members/:member/presses", fields("body", press), async ({ params, body }) => {
    const { position } = chat;
    const { label, messageId, action } = body;
    if (action === undefined && label !== undefined) chat.presses(params.member, label, body, messageId);
    else if (action !== undefined && label === undefined && messageId !== undefined) {
      chat.pressesAction(params.member, messageId, action, body);
    } else {
      throw new Refused(400, 'give "label", "label" and "messageId", or "action" and "messageId"');
    }
    return { position };
  });
  const filter = { workspace: NAME, place: NAME, member: NAME, contains: TEXT, after: COUNT, wait: WAIT };
  app.get<{ Querystring: Query }>("/messages", fields("querystring", filter), async ({ query }, reply) => {
    const { after, wait, ...rest } = query;
    const wanted = { ...rest, after: after === undefined ? undefined : Number(after) };
    const find = () => chat.messages(wanted);
    const seconds = readWait(wait);
    const isFound = await chat.until(() => find().length > 0, seconds, closedSignal(reply));
    if (!isFound && wait !== undefined) {
      const shown = chat.messages({ workspace: query.workspace }).map(({ message }) => message);
      throw new Refused(404, `no such message was shown within ${seconds} s; ${listMessages(shown)}`);
    }
    return { position: chat.position, messages: find().slice(-MESSAGES_MAX).map(messageJson) };
  });
  const waiting = fields("querystring", { wait: WAIT });
  app.get<{ Querystring: { wait?: string } }>("/ready", waiting, async ({ query }, reply) => {
    const isReady = await chat.until(
      () => chat.followers.length > 0,
      readWait(query.wait),
      closedSignal(reply),
    );
    if (!isReady)
      throw new Refused(503, "no game follows: start the game with the address of this fake core");
    return { groups: chat.followers.map(({ name, streams }) => ({ group: name, streams })) };
  });
  app.get<{ Querystring: { wait?: string } }>("/settled", waiting, async ({ query }, reply) => {
    const isSettled = await chat.until(
      () => chat.core.pending === 0,
      readWait(query.wait),
      closedSignal(reply),
    );
    if (isSettled) return { position: chat.position };
    throw new Refused(
      503,
      `${chat.core.pending} events have no ack yet: ack every event, also those that the game ignores`,
    );
  });
}
