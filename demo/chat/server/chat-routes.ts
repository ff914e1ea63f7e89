import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { SendResult } from "../../../bridge/sender";
import { COMMAND, COMMAND_MAX, NAME_MAX, TEXT_MAX, type LinkMode, type Member, type Report } from "../shapes";
import type { PageContext } from "./page-context";

const ID = { type: "integer", minimum: 1 } as const;

function bodyOf(properties: Record<string, object>, required = Object.keys(properties)): object {
  return { schema: { body: { type: "object", additionalProperties: false, required, properties } } };
}

const NOTHING_SAID = { message: "The message is empty." };
const NO_CONVERSATION = { message: "You are not in that conversation." };
const NO_BUTTON = { message: "That button no longer exists: the message has changed." };

/** Adds `POST /join`, which adds a member and returns their key. */
export function addJoinRoute(app: FastifyInstance, { room }: PageContext): void {
  app.post<{ Body: { name: string } }>(
    "/join",
    bodyOf({ name: { type: "string", maxLength: NAME_MAX } }),
    (request, reply) => {
      const name = request.body.name.trim();
      if (name === "") return reply.code(400).send({ message: "Choose a name." });
      return room.join(name) ?? reply.code(503).send({ message: "The chat is full." });
    },
  );
}

/** Adds the routes by which members type, press buttons, switch the bridge's mode and cut its network. */
export function addChatRoutes(
  app: FastifyInstance,
  { room, link }: PageContext,
  memberOf: (request: FastifyRequest) => Member,
): void {
  app.post<{ Body: { conversation: string; text: string; replyTo?: number } }>(
    "/say",
    bodyOf(
      {
        conversation: { type: "string", maxLength: 131 },
        text: { type: "string", maxLength: TEXT_MAX },
        replyTo: ID,
      },
      ["conversation", "text"],
    ),
    (request, reply) => {
      const { conversation, replyTo } = request.body;
      const author = memberOf(request);
      const text = request.body.text.trim();
      const command = readCommand(text);
      if (text === "") return reply.code(400).send(NOTHING_SAID);
      if (!room.isOpenTo(author.id, conversation)) return reply.code(404).send(NO_CONVERSATION);
      const isDm = conversation.startsWith("dm:");
      if (command !== undefined && isDm) {
        return reply.code(400).send({ message: `${COMMAND} works in channels.` });
      }
      if (command !== undefined && [...command].length > COMMAND_MAX) {
        return reply.code(400).send({ message: `A command has at most ${COMMAND_MAX} characters.` });
      }
      const replied = replyTo === undefined ? undefined : room.post(replyTo);
      const isReply = replied?.by === "service" && replied.conversation === conversation;
      const post = room.say({
        author,
        conversation,
        text,
        isCommand: command !== undefined,
        replyTo: isReply ? replied.id : null,
      });
      const channel = isDm ? conversation : channelOf(conversation);
      const event =
        command === undefined
          ? { type: "message" as const, text, ...(isReply ? { replyTo: replied.message.id } : {}) }
          : { type: "command" as const, text: command };
      // The chat shows the post at once, and the result of its report later.
      void link
        .report({ ...event, channel, user: author })
        .then((result) => room.setReport(post.id, toReport(result)));
      return reply.code(204).send();
    },
  );

  app.post<{ Body: { post: number; action: string } }>(
    "/press",
    bodyOf({ post: ID, action: { type: "string", maxLength: 512 } }),
    async (request, reply) => {
      const user = memberOf(request);
      const { action } = request.body;
      const post = room.post(request.body.post);
      const isThere =
        post?.by === "service" &&
        room.postsFor(user.id).includes(post) &&
        post.message.buttons.flat().some((button) => "action" in button && button.action === action);
      if (!isThere) return reply.code(409).send(NO_BUTTON);
      const { conversation, message } = post;
      const channel = conversation.startsWith("dm:") ? conversation : channelOf(conversation);
      const result = await link.report({ type: "action", channel, user, messageId: message.id, action });
      return done(reply, toReport(result));
    },
  );

  app.put<{ Body: { mode: LinkMode } }>(
    "/link/mode",
    bodyOf({ mode: { enum: ["poll", "push"] } }),
    async (request, reply) => {
      try {
        await link.setMode(request.body.mode);
        return await reply.code(204).send();
      } catch (error) {
        return reply.code(409).send({ message: error instanceof Error ? error.message : String(error) });
      }
    },
  );

  app.put<{ Body: { isCut: boolean } }>(
    "/link/cut",
    bodyOf({ isCut: { type: "boolean" } }),
    async (request, reply) => {
      await link.setCut(request.body.isCut);
      return reply.code(204).send();
    },
  );

  function channelOf(id: string): { id: string; name: string } {
    return { id, name: room.channels.find((each) => each.id === id)?.name ?? id };
  }
}

/** The text after the command word; undefined when the text is not a command. */
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
      return { is: "failed", why: "the service could not be reached" };
  }
}

function done(reply: FastifyReply, report: Report): FastifyReply {
  return report.is === "failed"
    ? reply.code(502).send({ message: `The press failed: ${report.why}.` })
    : reply.code(204).send();
}
