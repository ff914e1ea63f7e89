import fastify from "fastify";
import type { OutboundEvent } from "../../events";
import { fastifyReceiver } from "../../fastify-receiver";
import { createReceiver, type Receiver, type ReceiverOptions } from "../../receiver";
import { send, signatureOf } from "../../../test/harness/bridge";
import { plainHost, type Host } from "../../../test/harness/plain-host";
import { WORKSPACE } from "../../../test/harness/sample-events";
import { gate } from "./gate";

export const SECRET = "secret-one";
export const PATH = "/events";

export async function fastifyHost(receiver: Receiver): Promise<Host> {
  const app = fastify();
  // The app's own error handler and parsers must not affect the receiver.
  app.setErrorHandler(async (_error, _request, reply) => reply.code(418).send("the app's own"));
  app.addContentTypeParser("text/plain", { parseAs: "string" }, (_request, text, done) => done(null, text));
  await app.register(fastifyReceiver(receiver, PATH));
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  return { url, close: () => app.close() };
}

const closing: (() => Promise<unknown>)[] = [];

/** Closes the hosts of all receivers that were set up. */
export async function closeReceivers(): Promise<void> {
  for (const close of closing.splice(0)) await close();
}

/** Starts a receiver on a real socket. `shown` lists the events with which the handler was called. */
export async function setUpReceiver(
  options: Partial<ReceiverOptions> = {},
  hostOf: (receiver: Receiver) => Promise<Host> = ({ handler }) => plainHost(handler),
) {
  const shown: OutboundEvent[] = [];
  const problems: string[] = [];
  const receiver = createReceiver({
    secrets: SECRET,
    handle: (event) => void shown.push(event),
    report: ({ message }) => problems.push(message),
    ...options,
  });
  const host = await hostOf(receiver);
  closing.push(host.close);
  const push = (event: object, change: Record<string, string> = {}) => pushTo(host.url, event, change);
  return { shown, problems, receiver, url: host.url, push };
}

/** Pushes an event as the service does. A header that `change` sets to "" is omitted. */
export function pushTo(url: string, event: object | Buffer, change: Record<string, string> = {}) {
  const body = Buffer.isBuffer(event) ? event : Buffer.from(JSON.stringify(event));
  const { id, workspace } = event as { id?: string; workspace?: string };
  const headers = {
    "Content-Type": "application/json",
    "Service-Signature": signatureOf(SECRET, body),
    "Service-Event-Id": id ?? "",
    "Service-Workspace": workspace ?? WORKSPACE,
    ...change,
  };
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ""));
  return send(url, PATH, { method: "POST", headers: sent, body });
}

/**
 * Starts a receiver. If `waits` returns true for an event, the handler of the receiver waits until the test calls
 * `open()`.
 */
export async function setUpWaiting(
  {
    waits = () => true,
    ...options
  }: Partial<ReceiverOptions> & { waits?: (event: OutboundEvent) => boolean },
  hostOf?: (receiver: Receiver) => Promise<Host>,
) {
  const { open, opened } = gate();
  const done: string[] = [];
  const handle = async (event: OutboundEvent) => {
    if (waits(event)) await opened;
    done.push(event.id);
  };
  return { ...(await setUpReceiver({ ...options, handle }, hostOf)), done, open };
}
