import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { Duration } from "../../kit/game/duration";
import type { FakeChat } from "./fake-chat";
import { reportJson } from "./report-lines";
import { fields, NAME } from "./routes";

const WINDOW = { type: ["integer", "null"], minimum: 1, maximum: 1_000 };

/** Adds the calls that cause faults, move the clock, and report broken rules. */
export function addFaultRoutes(app: FastifyInstance, chat: FakeChat): void {
  const time = fields("body", { advance: { type: ["string", "number"] } }, ["advance"]);
  app.post<{ Body: { advance: Duration } }>("/time", time, async ({ body }) => {
    chat.advance(body.advance);
    return { now: chat.now.toISOString() };
  });
  app.get("/time", async () => ({ now: chat.now.toISOString() }));
  app.post("/redeliver", async () => {
    chat.redeliver();
    return {};
  });
  app.post("/streams/lose", async () => {
    const streams = chat.followers.reduce((sum, group) => sum + group.streams, 0);
    chat.core.endStreams();
    return { streams };
  });
  const window = fields("body", { window: WINDOW }, ["window"]);
  app.post<{ Body: { window: number | null } }>("/window", window, async ({ body }) => {
    chat.core.setSlow(body.window ?? undefined);
    return body;
  });
  const unavailable = fields("body", { unavailable: { type: "boolean" } }, ["unavailable"]);
  app.post<{ Body: { unavailable: boolean } }>("/unavailable", unavailable, async ({ body }) => {
    chat.core.setUnavailable(body.unavailable);
    return body;
  });
  app.get("/report", async () => reportJson(chat.core.report()));
  app.post("/reset", async () => {
    chat.reset();
    return { position: chat.position };
  });
  app.get("/workspaces", async () => ({ workspaces: chat.core.workspaceIds }));
  const workspace = {
    schema: { body: { type: ["object", "null"], additionalProperties: false, properties: { id: NAME } } },
  };
  app.post<{ Body: { id?: string } | undefined }>("/workspaces", workspace, async ({ body }) => ({
    id: chat.addWorkspace(body?.id ?? randomUUID()),
  }));
  app.delete<{ Params: { id: string } }>("/workspaces/:id", async ({ params }) => {
    chat.removeWorkspace(params.id);
    return {};
  });
}
