import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { fastifyReceiver } from "../../bridge/fastify-receiver";
import type { OutboundEvent } from "../../bridge/events";
import { createReceiver, type Receiver, type ReceiverOptions } from "../../bridge/receiver";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { dm, ephemeral, update } from "../harness/contents";
import { sharedPush } from "../harness/push";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";

const push = sharedPush();

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Serve = (receiver: Receiver, tls: { key: Buffer; cert: Buffer }) => Promise<number>;

const onNode: Serve = async ({ handler }, tls) => {
  const server = createServer(tls, handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
};

const onFastify: Serve = async (receiver, tls) => {
  const app = fastify({ https: tls, forceCloseConnections: true });
  await app.register(fastifyReceiver(receiver, "/events"));
  closing.push(() => app.close());
  return Number(new URL(await app.listen({ host: "127.0.0.1", port: 0 })).port);
};

let bridges = 0;
/** A push workspace whose target is a receiver of the kit, over real HTTPS. */
async function startBridge(serve: Serve, change: Partial<ReceiverOptions> = {}) {
  const name = `kit${++bridges}.bridge.test`;
  push.names.set(name, ["127.0.0.1"]);
  const workspace = await push.workspaces.make();
  const shown: OutboundEvent[] = [];
  const problems: string[] = [];
  const receiver = createReceiver({
    secrets: workspace.secret,
    handle: (event) => void shown.push(event),
    report: ({ message }) => problems.push(message),
    ...change,
  });
  const port = await serve(receiver, push.certificate);
  await push.workspaces.setTargetUrl(workspace.id, `https://${name}:${port}/events`);
  return { receiver, shown, problems, ...workspace };
}

describe.each([
  ["Node's own HTTPS server", onNode],
  ["a Fastify app", onFastify],
])("on %s", (_what, serve) => {
  // contract: push-2xx
  test("every kind of event that the service pushes is verified, answered and shown once", async () => {
    const { id, shown, problems } = await startBridge(serve);
    const [created] = await push.publish(textEvent(id, "héllo 🎲"));
    const message = { id: created?.messageId ?? "", kind: MessageKind.QUESTION, text: "?" };
    const contents = [update("c1", message), ephemeral("c1", "u1"), dm("u1")];
    await push.publish(...contents.map((content) => ({ workspaceId: id, content })));
    expect(await push.ping(id)).toMatchObject({ delivery: { status: 204 } });
    const log = await push.logged(id, 5);
    expect(log.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204]);
    await until("all are shown", () => shown.length === 5);
    const types = ["message.create", "message.update", "message.ephemeral", "dm.create", "ping"];
    expect(shown.map(({ type }) => type).toSorted()).toEqual(types.toSorted());
    expect(shown).toContainEqual(
      expect.objectContaining({
        id: created?.eventId,
        sequence: created?.sequence,
        message: expect.objectContaining({ id: created?.messageId, text: "héllo 🎲" }),
      }),
    );
    expect(problems).toEqual([]);
  });
});

// contract: rotation-outbound
test("through a rotation a bridge with the old secret, the new one or both takes what is pushed", async () => {
  let using: readonly string[] = [];
  const { id, secret: old, shown } = await startBridge(onNode, { secrets: () => using });
  const { signingSecret: fresh } = await push.workspaces.rotate(id);
  for (const [i, secrets] of [[old], [fresh], [fresh, old]].entries()) {
    using = secrets;
    await push.publish(textEvent(id, `${i}`));
    await until("it is shown", () => shown.length === i + 1);
  }
  using = ["neither"];
  await push.publish(textEvent(id, "refused"));
  // What was refused comes again a second later.
  const log = (await push.logged(id, 4)).slice(0, 4);
  expect(log.map(({ status }) => status)).toEqual([204, 204, 204, 401]);
  expect(shown).toHaveLength(3);
});

// contract: retry-create, push-2xx
test("what is answered 503 for want of room comes again, and is shown once there is room", async () => {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const texts: string[] = [];
  const { id } = await startBridge(onNode, {
    queueMax: 1,
    async handle(event) {
      await opened;
      if (event.type === "message.create") texts.push(event.message.text);
    },
  });
  await push.publish(textEvent(id, "one"), textEvent(id, "two"));
  // Both are under way at once, so either answer may be there first.
  const firstTwo = (await push.logged(id, 2)).slice(0, 2);
  expect(firstTwo.map(({ status }) => status).toSorted((a = 0, b = 0) => a - b)).toEqual([204, 503]);
  open();
  await until("both are shown", () => texts.length === 2);
  expect(texts.toSorted()).toEqual(["one", "two"]);
  const statuses = await until("both were taken", async () => {
    const found = (await push.deliveries(id)).map(({ status }) => status);
    return found.filter((status) => status === 204).length === 2 && found;
  });
  // It may have come again before there was room.
  expect(new Set(statuses)).toEqual(new Set([204, 503]));
  expect(statuses.at(-1)).toBe(204);
});

// contract: kit-answer-first
test("a slow chat does not make the service wait: pushes are answered before they are shown", async () => {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const texts: string[] = [];
  const { id, receiver } = await startBridge(onNode, {
    async handle(event) {
      await opened;
      if (event.type === "message.create") texts.push(event.message.text);
    },
  });
  const all = Array.from({ length: 20 }, (_, i) => `event ${i}`);
  await push.publish(...all.map((text) => textEvent(id, text)));
  const log = await push.logged(id, 20);
  expect(new Set(log.map(({ status }) => status))).toEqual(new Set([204]));
  expect(texts).toEqual([]);
  open();
  await receiver.close();
  expect(texts.toSorted()).toEqual(all.toSorted());
});
