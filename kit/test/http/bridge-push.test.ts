import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import fastify from "fastify";
import { fastifyReceiver } from "../../fastify-receiver";
import { folderStore, storeInMemory } from "../../message-store";
import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { update } from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { freePort } from "../../../test/harness/processes";
import { sharedPush } from "../../../test/harness/push";
import { create } from "../../../test/harness/sample-events";
import { textEvent } from "../../../test/harness/service";
import { until } from "../../../test/harness/wait";
import { makeBridge, recordingChat, stopBridges } from "../harness/bridge-chat";
import { gate } from "../harness/gate";
import { fakeTimeouts } from "../harness/skipped-time";

const push = sharedPush();
const folder = testFolder();
afterEach(stopBridges);
const { keyPath, certPath } = push.certificate;
const tls = { key: readFileSync(keyPath), cert: readFileSync(certPath) };
const optionsOf = ({ id, secret }: { id: string; secret: string }) => ({
  baseUrl: push.service.url,
  workspaceId: id,
  secrets: secret,
});

/** Resolves to whether a server listens on a port of the loopback address. */
function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
    socket.unref().once("connect", () => socket.destroy());
  });
}

/** Creates a workspace whose events are pushed to `port` on the loopback address. */
function workspaceFor(port: number, path: string) {
  push.names.set("kit.bridge.test", ["127.0.0.1"]);
  return push.workspaces.make({ targetUrl: `https://kit.bridge.test:${port}${path}` });
}

test("a bridge with its own listener shows pushed events, and answers other paths with 404", async () => {
  const port = await freePort();
  const workspace = await workspaceFor(port, "/events?from=service");
  const { bridge, calls } = makeBridge({ ...optionsOf(workspace), mode: "push", listen: { port, ...tls } });
  await bridge.start();
  const [created] = await push.publish(textEvent(workspace.id, "first"));
  const message = { id: created?.messageId ?? "", kind: MessageKind.QUESTION, text: "second" };
  await push.publish({ workspaceId: workspace.id, content: update("c1", message) });
  await until("both events are shown", () => calls.length === 2);
  expect(calls.map(({ call, text }) => [call, text])).toEqual([
    ["post", "first"],
    ["update", "second"],
  ]);
  expect((await push.logged(workspace.id, 2)).map(({ status }) => status)).toEqual([204, 204]);
  await push.workspaces.setTargetUrl(workspace.id, `https://kit.bridge.test:${port}/other`);
  await push.publish(textEvent(workspace.id, "to another path"));
  expect((await push.logged(workspace.id, 3)).at(-1)).toMatchObject({ status: 404 });
});

test("a stopping bridge shows the events of all pushes that it has answered", async () => {
  const port = await freePort();
  const workspace = await workspaceFor(port, "/events");
  const recorded = recordingChat();
  const { open, opened } = gate();
  const chat = {
    ...recorded.chat,
    async post(...[event, signal]: Parameters<typeof recorded.chat.post>) {
      await opened;
      return recorded.chat.post(event, signal);
    },
  };
  const { bridge } = makeBridge({ ...optionsOf(workspace), chat, mode: "push", listen: { port, ...tls } });
  await bridge.start();
  await push.publish(textEvent(workspace.id, "one"), textEvent(workspace.id, "two"));
  await push.logged(workspace.id, 2);
  const stopped = bridge.stop();
  await until("the bridge has closed its listener", async () => !(await isListening(port)));
  open();
  await stopped;
  expect(recorded.texts()).toEqual(["one", "two"]);
  expect(bridge.status.isConnected).toBe(false);
});

test("a bridge can be mounted in a Fastify app, and the app closes the bridge", async () => {
  const app = fastify({ https: tls });
  const port = await freePort();
  const workspace = await workspaceFor(port, "/my/events");
  const { bridge, texts } = makeBridge({ ...optionsOf(workspace), mode: "push" });
  await app.register(fastifyReceiver(bridge, "/my/events"));
  await app.listen({ host: "127.0.0.1", port });
  await bridge.start();
  await push.publish(textEvent(workspace.id, "hello"));
  await until("the event is shown", () => texts().includes("hello"));
  await app.close();
  await expect(bridge.start()).rejects.toThrow("a bridge can be started only once");
});

test("a bridge that is stopped while it starts does not listen", async () => {
  const workspace = await push.workspaces.make();
  const port = await freePort();
  const { bridge } = makeBridge({ ...optionsOf(workspace), mode: "push", listen: { port } });
  const started = bridge.start();
  await bridge.stop();
  await started;
  expect(await isListening(port)).toBe(false);
  expect(bridge.status.isConnected).toBe(false);
});

// time: controlled
test("a client that sends no complete request cannot keep a bridge from stopping", async () => {
  const workspace = await push.workspaces.make();
  const port = await freePort();
  const { bridge } = makeBridge({ ...optionsOf(workspace), mode: "push", listen: { port } });
  await bridge.start();
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  socket.write("POST /events HTTP/1.1\r\nHost: bridge\r\n");
  await once(socket, "connect");
  // Once the server has answered on a second connection, it has also accepted the first one.
  await fetch(`http://127.0.0.1:${port}/events`);
  fakeTimeouts();
  try {
    const isClosed = once(socket, "close");
    const stopped = bridge.stop();
    await until("the bridge has closed its listener", async () => !(await isListening(port)));
    await jest.advanceTimersByTimeAsync(5_000);
    await Promise.all([stopped, isClosed]);
  } finally {
    jest.useRealTimers();
  }
});

test("a bridge whose port is in use cannot start", async () => {
  const workspace = await push.workspaces.make();
  const port = await freePort();
  const options = { ...optionsOf(workspace), mode: "push", listen: { port } } as const;
  await makeBridge(options).bridge.start();
  await expect(makeBridge(options).bridge.start()).rejects.toThrow("EADDRINUSE");
});

// time: controlled
test("a bridge that stops before the chat accepts an event shows the event in its next run", async () => {
  const port = await freePort();
  const workspace = await workspaceFor(port, "/events");
  const store = folderStore(join(folder, "stopped"));
  const options = { ...optionsOf(workspace), store, mode: "push", listen: { port, ...tls } } as const;
  const recorded = recordingChat();
  const { open, opened } = gate();
  const chat = {
    ...recorded.chat,
    async post(): Promise<string> {
      await opened;
      throw new Error("the chat is stopping");
    },
  };
  const { bridge } = makeBridge({ ...options, chat });
  await bridge.start();
  await push.publish(textEvent(workspace.id, "one"), textEvent(workspace.id, "two"));
  await push.logged(workspace.id, 2);
  fakeTimeouts();
  try {
    const stopped = bridge.stop();
    await until("the bridge has closed its listener", async () => !(await isListening(port)));
    await jest.advanceTimersByTimeAsync(5_000);
    open();
    await stopped;
  } finally {
    jest.useRealTimers();
  }
  const next = makeBridge(options);
  await next.bridge.start();
  await until("both events are shown", () => next.texts().length === 2);
  expect(next.texts().toSorted()).toEqual(["one", "two"]);
});

test("a push bridge whose port is in use does not show its stored events; a polling bridge with the same store shows them", async () => {
  const workspace = await push.workspaces.make();
  const port = await freePort();
  const options = { ...optionsOf(workspace), mode: "push", listen: { port } } as const;
  const first = makeBridge(options).bridge;
  await first.start();
  const others = folderStore(join(folder, "taken"));
  const event = { ...create(), workspace: workspace.id };
  const store = { ...others, pushes: { ...others.pushes, load: async () => [event] } };
  const second = makeBridge({ ...options, store });
  await expect(second.bridge.start()).rejects.toThrow("EADDRINUSE");
  await second.bridge.stop();
  expect(second.texts()).toEqual([]);
  const { mode: _mode, listen: _listen, ...polling } = options;
  const third = makeBridge({ ...polling, store });
  await third.bridge.start();
  await until("the event is shown", () => third.texts().length === 1);
});

// time: controlled
test("a bridge that cannot start makes no further calls to the chat, because another process may show its stored events", async () => {
  const workspace = await push.workspaces.make();
  const store = folderStore(join(folder, "refused"));
  await store.pushes.load();
  await store.pushes.add({ ...create(), workspace: workspace.id });
  const post = jest.fn<Promise<string>, []>(() => Promise.reject(new Error("the chat is down")));
  const chat = { ...recordingChat().chat, post };
  fakeTimeouts(Date.now());
  try {
    const { bridge } = makeBridge({ ...optionsOf(workspace), secrets: "wrong", store, chat });
    await expect(bridge.start()).rejects.toThrow("401");
    await jest.advanceTimersByTimeAsync(10_000);
    expect(post).toHaveBeenCalledTimes(1);
  } finally {
    jest.useRealTimers();
  }
  const next = makeBridge({ ...optionsOf(workspace), store: folderStore(join(folder, "refused")) });
  await next.bridge.start();
  await until("the event is shown", () => next.texts().length === 1);
});

test("a bridge whose stored events cannot be loaded does not start", async () => {
  const workspace = await push.workspaces.make();
  const load = () => Promise.reject(new Error("the disk is broken"));
  const pushes = { load, add: async () => undefined, remove: async () => undefined };
  const store = { ...storeInMemory(), pushes };
  const { bridge } = makeBridge({ ...optionsOf(workspace), store, mode: "push" });
  await expect(bridge.start()).rejects.toThrow("cannot load the pushes from the store: the disk is broken");
});
