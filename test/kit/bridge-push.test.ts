import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { fastifyReceiver } from "../../bridge/fastify-receiver";
import type { OutboundEvent } from "../../bridge/events";
import { createReceiver, type Receiver, type ReceiverOptions } from "../../bridge/receiver";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { dm, ephemeral, update } from "../harness/contents";
import { gate } from "../harness/gate";
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
  const statuses = async () => (await push.deliveries(workspace.id)).map(({ status }) => status);
  return { receiver, shown, problems, statuses, ...workspace };
}

// contract: push-2xx
test.each([
  ["Node's own HTTPS server", onNode],
  ["a Fastify app", onFastify],
])("on %s every type of pushed event is verified, answered and shown once", async (_what, serve) => {
  const { id, shown, problems } = await startBridge(serve);
  const [created] = await push.publish(textEvent(id, "héllo 🎲"));
  const message = { id: created?.messageId ?? "", kind: MessageKind.QUESTION, text: "?" };
  const contents = [update("c1", message), ephemeral("c1", "u1"), dm("u1")];
  await push.publish(...contents.map((content) => ({ workspaceId: id, content })));
  expect(await push.ping(id)).toMatchObject({ delivery: { status: 204 } });
  const log = await push.logged(id, 5);
  expect(log.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204]);
  await until("all are shown", () => shown.length === 5);
  const types = ["dm.create", "message.create", "message.ephemeral", "message.update", "ping"];
  expect(shown.map(({ type }) => type).toSorted()).toEqual(types);
  expect(shown.find(({ type }) => type === "message.create")).toMatchObject({
    id: created?.eventId,
    sequence: created?.sequence,
    message: { id: created?.messageId, text: "héllo 🎲" },
  });
  expect(problems).toEqual([]);
});

// contract: rotation-outbound
test("through a rotation a bridge with the old secret, the new one or both accepts pushes", async () => {
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
  // The refused push is retried, so the log grows.
  const log = (await push.logged(id, 4)).slice(0, 4);
  expect(log.map(({ status }) => status)).toEqual([204, 204, 204, 401]);
  expect(shown).toHaveLength(3);
});

// contract: retry-create, push-2xx
test("a push that is answered 503 by a full queue is retried, and shown once", async () => {
  const { open, opened } = gate();
  const shown: string[] = [];
  const handle = (event: OutboundEvent) => opened.then(() => void shown.push(event.id));
  const { id, statuses } = await startBridge(onNode, { handle, queueMax: 1 });
  const published = await push.publish(textEvent(id, "one"), textEvent(id, "two"));
  // Both are pushed at once, so either may come first; one may be retried before there is room.
  await until("one was refused", async () => new Set(await statuses()).size === 2);
  expect(new Set(await statuses())).toEqual(new Set([204, 503]));
  open();
  await until("both are shown", () => shown.length === 2);
  expect(shown.toSorted()).toEqual(published.map(({ eventId }) => eventId).toSorted());
  await until(
    "both were accepted",
    async () => (await statuses()).filter((each) => each === 204).length === 2,
  );
  expect((await statuses()).at(-1)).toBe(204);
});
