import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ADDRESS_REQUESTS_PER_SECOND, WORKSPACE_REQUESTS_PER_SECOND } from "../../../contract/numbers";
import { signatureOf } from "../../load/signed-requests";
import { textEvent } from "../neighbour";
import { attempt, createTally, type Counts } from "../tally";
import type { Attack, Attacker } from "./hostile";

const SECONDS = 4;
const TICKS_PER_SECOND = 20;
const LONG_TEXT = "x".repeat(4_000);

/**
 * Posts long messages at the maximum rate of a workspace. The tenant's game receives the events, but acks none of them.
 */
export const unackedPosts: Attack = async ({ client, tenant, signal }) => {
  const stream = await client.follow({ consumer: "hoarder", window: 1_000, onDelivery: () => false });
  const counts = await atRate(signal, WORKSPACE_REQUESTS_PER_SECOND, (number) =>
    client.post(tenant.polled, {
      type: "message",
      id: `${tenant.name}-${Date.now()}-${number}`,
      channel: "c",
      user: { id: "u" },
      text: LONG_TEXT,
    }),
  );
  return { ...counts, release: () => stream.close() };
};

/** Posts with invalid signatures to another tenant's workspace, at the maximum rate of an address. */
export const badSignatures: Attack = ({ client, victimId: id, signal }) =>
  atRate(signal, ADDRESS_REQUESTS_PER_SECOND, () =>
    client.post({ id, secret: "another secret" }, { type: "message", text: "x" }),
  );

/** Calls `make` at a fixed rate for `SECONDS`. */
async function atRate(
  signal: AbortSignal,
  perSecond: number,
  make: (number: number) => Promise<void>,
): Promise<Counts> {
  const tally = createTally();
  const made: Promise<void>[] = [];
  const began = performance.now();
  while (made.length < perSecond * SECONDS && !signal.aborted) {
    const due = Math.min(perSecond * SECONDS, ((performance.now() - began) / 1_000) * perSecond);
    while (made.length < due) {
      const at = performance.now();
      const one = make(made.length).then(() => tally.accept(performance.now() - at), tally.refuse);
      made.push(one);
    }
    await sleep(1_000 / TICKS_PER_SECOND);
  }
  await Promise.all(made);
  return tally.counts();
}

const CONNECTIONS = 3_000;
const CONNECTIONS_AT_ONCE = 200;
/**
 * Milliseconds within which the edge closes a connection that exceeds the edge's limits. The edge's timeouts are
 * longer, so a connection that closes within this time did not time out: the edge refused it.
 */
const REFUSED_WITHIN_MS = 1_000;

/**
 * Opens connections to the edge. A third of the connections send nothing, a third send part of a request, and a third
 * send a whole request.
 */
export const connections: Attack = async (attacker) => {
  const sockets: Socket[] = [];
  const { signal } = attacker;
  const sent = [
    "",
    "POST /hooks/x HTTP/1.1\r\nHost: x\r\nX-Part: ",
    "GET /hooks/x HTTP/1.1\r\nHost: x\r\n\r\n",
  ];
  const { refused } = await attempt(
    { count: CONNECTIONS, atOnce: CONNECTIONS_AT_ONCE, signal },
    async (number) => {
      const socket = await openConnection(attacker, sent[number % sent.length] ?? "");
      // Node notices that the edge has closed a connection only if the socket is read.
      sockets.push(socket.resume());
    },
  );
  await sleep(REFUSED_WITHIN_MS);
  const accepted = sockets.filter(({ closed }) => !closed).length;
  // The edge resets a connection that it refuses. The attack may notice the reset before or after `openConnection`
  // resolves.
  const { ECONNRESET: reset = 0, ...others } = refused;
  const closed = sockets.length - accepted + reset;
  const release = (): void => sockets.forEach((socket) => socket.destroy());
  return { accepted, refused: { ...others, ...(closed > 0 && { closed }) }, release };
};

const UNREAD_EVENTS = 60;
const UNREAD_BYTES = 60_000;
const UNREAD_CONNECTIONS = 40;
const POLLS_EACH = 10;

/** Sends many polls for large pages over each of several connections, and does not read the answers. */
export const unreadPolls: Attack = async (attacker) => {
  const { client, tenant, signal } = attacker;
  const { id, secret } = tenant.polled;
  const text = "x".repeat(UNREAD_BYTES);
  await client.publish(Array.from({ length: UNREAD_EVENTS }, () => textEvent(tenant.polled, text)));
  const sockets: Socket[] = [];
  const counts = await attempt(
    { count: UNREAD_CONNECTIONS, atOnce: UNREAD_CONNECTIONS, signal },
    async () => {
      const poll = `GET /hooks/${id}/events?after=0 HTTP/1.1\r\nHost: x\r\nService-Signature: ${signatureOf(secret, "after=0")}\r\n\r\n`;
      sockets.push(await openConnection(attacker, poll.repeat(POLLS_EACH)));
    },
  );
  return { ...counts, release: () => sockets.forEach((socket) => socket.destroy()) };
};

/**
 * Connects to the edge from the tenant's address, and sends `text`. The socket is paused, so answers stay unread until
 * `resume`.
 */
async function openConnection({ place, tenant }: Attacker, text: string): Promise<Socket> {
  const { hostname: host, port } = new URL(place.url);
  const socket = connect({ host, port: Number(port), localAddress: tenant.address });
  // `once` below rejects if the connection fails. This listener ignores later errors, e.g. when the edge resets the
  // connection.
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.pause();
  if (text !== "") socket.write(text);
  return socket;
}
