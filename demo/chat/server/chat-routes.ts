import type { FastifyInstance, FastifyReply } from "fastify";
import {
  ACTION_MAX_CHARACTERS,
  COMMAND_TEXT_MAX_CHARACTERS,
  MESSAGE_TEXT_MAX_CHARACTERS,
} from "../../../contract/numbers";
import { DM_CHANNEL_MAX_CHARACTERS, DM_PREFIX, EVENT_ID_FORM } from "../../../contract/forms";
import { displayName } from "../../../kit/display-name";
import type { Channel, InboundEvent } from "../../../kit/inbound-event";
import type { SendResult } from "../../../kit/sender";
import { isSeenBy, type Room } from "../room/room";
import {
  BREAKS,
  COMMAND,
  NAME_MAX,
  type Break,
  type LastCommand,
  type LinkMode,
  type Member,
  type Report,
  type ServicePost,
} from "../shapes";
import type { PageContext } from "./page-context";

const ID = { type: "integer", minimum: 1 } as const;

/** Returns the options of a route whose JSON body must contain exactly the given properties. */
function bodyOf(properties: Record<string, object>): object {
  const required = Object.keys(properties);
  return { schema: { body: { type: "object", additionalProperties: false, required, properties } } };
}

const JOIN = bodyOf({ name: { type: "string", maxLength: NAME_MAX } });
const TEXT = { type: "string", maxLength: MESSAGE_TEXT_MAX_CHARACTERS } as const;
const SAY = bodyOf({ conversation: { type: "string", maxLength: DM_CHANNEL_MAX_CHARACTERS }, text: TEXT });
const ANSWER = bodyOf({ post: ID, text: TEXT });
const PRESS = bodyOf({ post: ID, action: { type: "string", maxLength: ACTION_MAX_CHARACTERS } });
const MODE = bodyOf({ mode: { enum: ["poll", "push"] } });
const BREAK = bodyOf({
  how: { enum: BREAKS },
  lastCommand: {
    type: ["object", "null"],
    additionalProperties: false,
    required: ["channel", "text"],
    properties: {
      channel: { type: "string", maxLength: DM_CHANNEL_MAX_CHARACTERS },
      text: { enum: ["start", "help"] },
    },
  },
});

const DASHBOARD_LINK = bodyOf({ event: { type: ["string", "null"], pattern: EVENT_ID_FORM.source } });

/** Adds `POST /join`, which adds a member and returns the member's key. */
export function addJoinRoute(app: FastifyInstance, { room }: PageContext): void {
  app.post<{ Body: { name: string } }>("/join", JOIN, ({ body }, reply) => {
    const name = body.name.trim();
    return displayName(name, "") === ""
      ? reply.code(400).send({ message: "Choose a name." })
      : room.join(name);
  });
}

/** Adds the route for typed text. */
export function addSayRoute(app: FastifyInstance, { room, bridge }: PageContext): void {
  type Said = { conversation: string; text: string };
  app.post<{ Body: Said }>("/say", SAY, (request, reply) => {
    const { member: author, body } = request;
    const { conversation } = body;
    const text = body.text.trim();
    const refuse = (status: number, message: string) => reply.code(status).send({ message });
    if (text === "") return refuse(400, "The message is empty.");
    if (!room.isOpenTo(author.id, conversation)) return refuse(404, "You are not in that conversation.");
    const command = readCommand(text);
    if (command !== undefined && conversation.startsWith(DM_PREFIX)) {
      return refuse(400, `${COMMAND} works only in channels.`);
    }
    if (command !== undefined && [...command].length > COMMAND_TEXT_MAX_CHARACTERS) {
      return refuse(400, `A command has at most ${COMMAND_TEXT_MAX_CHARACTERS} characters.`);
    }
    const post = room.say({ author, conversation, text, isCommand: command !== undefined });
    const from = { channel: channelOf(room, conversation), user: author };
    const reported = bridge.report(
      command === undefined
        ? { type: "message", ...from, text }
        : { type: "command", ...from, text: command },
    );
    // The chat shows the post immediately, and the result of the report later.
    void reported.then((result) => room.setReport(post.id, toReport(result)));
    return reply.code(204).send();
  });
}

/** Adds the routes for pressed buttons and answers. */
export function addAnswerRoutes(app: FastifyInstance, { room, bridge }: PageContext): void {
  app.post<{ Body: { post: number; action: string } }>("/press", PRESS, async (request, reply) => {
    const { member: user, body } = request;
    const post = messageFor(room, user, body.post);
    const buttons = post?.message.buttons.flat() ?? [];
    if (post === undefined || !buttons.some((each) => "action" in each && each.action === body.action)) {
      return reply.code(409).send({ message: "That button no longer exists: the message has changed." });
    }
    const channel = channelOf(room, post.conversation);
    const press = { type: "action", channel, user, messageId: post.message.id, action: body.action } as const;
    return report(press, "Your press was not sent", reply);
  });

  // Other members do not see an answer: only the service gets it.
  app.post<{ Body: { post: number; text: string } }>("/answer", ANSWER, async (request, reply) => {
    const { member: user, body } = request;
    const post = messageFor(room, user, body.post);
    const text = body.text.trim();
    if (text === "") return reply.code(400).send({ message: "The answer is empty." });
    if (post?.message.awaitsReply !== true) {
      return reply.code(409).send({ message: "That message no longer waits for an answer." });
    }
    const channel = channelOf(room, post.conversation);
    const answer = { type: "message", channel, user, text, replyTo: post.message.id } as const;
    return report(answer, "Your answer was not sent", reply);
  });

  /**
   * Reports an event, and answers the page's request with the result. The message of a failure begins with `failed`.
   */
  async function report(event: InboundEvent, failed: string, reply: FastifyReply): Promise<FastifyReply> {
    const result = toReport(await bridge.report(event));
    return result.is === "failed"
      ? reply.code(502).send({ message: `${failed}: ${result.why}.` })
      : reply.code(204).send();
  }
}

/** Adds the routes that change, break and repair the bridge. */
export function addLinkRoutes(app: FastifyInstance, { room, bridge }: PageContext): void {
  app.put<{ Body: { mode: LinkMode } }>("/link/mode", MODE, ({ body }, reply) =>
    change(bridge.setMode(body.mode), reply),
  );

  type Broken = { how: Break; lastCommand: LastCommand | null };
  app.put<{ Body: Broken }>("/link/break", BREAK, ({ member, body: { how, lastCommand } }, reply) => {
    const channel = room.channels.find(({ id }) => id === lastCommand?.channel);
    const command = channel && lastCommand && { channel, text: lastCommand.text };
    return change(bridge.break(how, member, command ?? undefined), reply);
  });

  app.delete("/link/break", (_request, reply) => change(bridge.repair(), reply));

  async function change(changed: Promise<void>, reply: FastifyReply): Promise<FastifyReply> {
    try {
      await changed;
      return await reply.code(204).send();
    } catch (error) {
      return reply.code(409).send({ message: error instanceof Error ? error.message : String(error) });
    }
  }
}

/** Adds `POST /dashboard-link`, which returns a link to a page of the dashboard. */
export function addDashboardRoute(app: FastifyInstance, { dashboard }: PageContext): void {
  app.post<{ Body: { event: string | null } }>("/dashboard-link", DASHBOARD_LINK, async (request, reply) => {
    if (dashboard === undefined) return reply.code(404).send({ message: "This chat has no dashboard." });
    return { url: await dashboard.linkFor(request.member.id, request.body.event) };
  });
}

/** Returns the message with this id; undefined if there is no such message or the member does not see it. */
function messageFor(room: Room, member: Member, id: number): ServicePost | undefined {
  const post = room.post(id);
  return post?.by === "service" && isSeenBy(member.id, post) ? post : undefined;
}

/** Returns the channel of an event: the id of a direct conversation, or the id and the name of a channel. */
function channelOf(room: Room, id: string): Channel {
  return room.channels.find((each) => each.id === id) ?? id;
}

/** Returns the text after the command word; undefined when the text is not a command. */
function readCommand(text: string): string | undefined {
  const [word = "", ...rest] = text.split(/\s+/);
  return word.toLowerCase() === COMMAND ? rest.join(" ") : undefined;
}

function toReport(result: SendResult): Report {
  switch (result.outcome) {
    case "accepted":
      return { is: "sent" };
    case "refused":
      return { is: "failed", why: `the service rejected the event (${result.status}): ${result.message}` };
    case "given-up":
      return { is: "failed", why: "the service did not accept the event, despite retries" };
  }
}
