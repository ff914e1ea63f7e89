import fastify from "fastify";
import type { OutboundEvent } from "../../bridge/events";
import { fastifyReceiver } from "../../bridge/fastify-receiver";
import { createReceiver } from "../../bridge/receiver";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { dm, ephemeral, update } from "../harness/contents";
import { sharedPush } from "../harness/push";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";

const push = sharedPush();

// contract: push-2xx
test("every type of pushed event is verified by the kit's receiver, answered and shown once", async () => {
  const { id, secret } = await push.workspaces.make();
  const shown: OutboundEvent[] = [];
  const problems: string[] = [];
  const receiver = createReceiver({
    secrets: secret,
    handle: (event) => void shown.push(event),
    report: ({ message }) => problems.push(message),
  });
  const app = fastify({ https: push.certificate, forceCloseConnections: true });
  await app.register(fastifyReceiver(receiver, "/events"));
  const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  push.names.set("kit.bridge.test", ["127.0.0.1"]);
  await push.workspaces.setTargetUrl(id, `https://kit.bridge.test:${port}/events`);

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
  await app.close();
});
