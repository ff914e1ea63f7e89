import { createSocket } from "node:dgram";
import ipaddr from "ipaddr.js";

/** IPv4 and IPv6 addresses, or the code of an error. "silence" means that the server never answers. */
export type NameAnswer = readonly string[] | "NXDOMAIN" | "SERVFAIL" | "silence";

/**
 * One answer to all queries, or a function that returns the answer. `number` counts the queries for a name and
 * type, from 1.
 */
type NameRecord = NameAnswer | ((query: { readonly number: number }) => NameAnswer);

export type TestNames = ReturnType<typeof createNames>;

const TYPE_NAMES: Readonly<Record<number, string>> = { 1: "A", 28: "AAAA" };
const HEADER_BYTES = 12;
const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 } as const;

/** Starts a DNS server on a free UDP port of the loopback interface. */
export async function startNames(table?: Readonly<Record<string, NameRecord>>): Promise<TestNames> {
  const names = createNames(table);
  await names.listen();
  return names;
}

/** Creates a DNS server that does not listen yet. */
export function createNames(table: Readonly<Record<string, NameRecord>> = {}) {
  const records = new Map(Object.entries(table));
  const counts = new Map<string, number>();
  const countOf = (name: string, type: string) => counts.get(`${type} ${name}`) ?? 0;
  const socket = createSocket("udp4");
  let closed = false;

  socket.on("message", (packet, { port, address }) => {
    const { name, typeNumber, end } = readQuestion(packet);
    const type = TYPE_NAMES[typeNumber] ?? String(typeNumber);
    const number = countOf(name, type) + 1;
    counts.set(`${type} ${name}`, number);
    const record = records.get(name) ?? "NXDOMAIN";
    const answer = typeof record === "function" ? record({ number }) : record;
    if (answer === "silence" || closed) return;
    socket.send(writeAnswer(packet.subarray(0, end), typeNumber, answer), port, address);
  });

  return {
    /** Listens on a UDP port of the loopback interface, by default on a free port. */
    listen: (port = 0) =>
      new Promise<void>((resolve, reject) => {
        socket.once("error", reject).bind(port, "127.0.0.1", resolve);
      }),
    /** Address in the format of the setting `DNS_SERVERS`: `127.0.0.1:port`. */
    get server() {
      return `127.0.0.1:${socket.address().port}`;
    },
    /** Sets the answer for a name. The name must be in lower case. Other names are answered with NXDOMAIN. */
    set: (name: string, record: NameRecord) => void records.set(name, record),
    /** The number of lookups of a name. The queries for A and AAAA count as one lookup. */
    lookups: (name: string) => Math.max(countOf(name, "A"), countOf(name, "AAAA")),
    async close() {
      if (closed) return;
      closed = true;
      await new Promise<void>((resolve) => socket.close(resolve));
    },
  };
}

function readQuestion(packet: Buffer): { name: string; typeNumber: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = packet.readUInt8(at); length > 0; length = packet.readUInt8(at)) {
    labels.push(packet.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  // The name is followed by a zero byte, two bytes for the type, and two bytes for the class.
  return { name: labels.join(".").toLowerCase(), typeNumber: packet.readUInt16BE(at + 1), end: at + 5 };
}

/** Returns the answer to a packet with a header and one question. */
function writeAnswer(asked: Buffer, typeNumber: number, answer: Exclude<NameAnswer, "silence">): Buffer {
  const kind = TYPE_NAMES[typeNumber] === "A" ? "ipv4" : "ipv6";
  const known = typeof answer === "string" || TYPE_NAMES[typeNumber] === undefined ? [] : answer;
  const wanted = known.map((text) => ipaddr.parse(text)).filter((address) => address.kind() === kind);
  const header = Buffer.from(asked.subarray(0, HEADER_BYTES));
  const isRecursionDesired = header.readUInt16BE(2) & 0x0100;
  const rcode = RCODES[typeof answer === "string" ? answer : "NOERROR"];
  // The flags say that this is a response, and that recursion is available.
  header.writeUInt16BE(0x8080 | isRecursionDesired | rcode, 2);
  header.writeUInt16BE(wanted.length, 6);
  header.writeUInt32BE(0, 8);
  const resources = wanted.map((address) => {
    const data = Buffer.from(address.toByteArray());
    // A pointer to the question's name, the type, class IN, a time to live of 0, and the length.
    const head = Buffer.from([0xc0, HEADER_BYTES, 0, typeNumber, 0, 1, 0, 0, 0, 0, 0, data.length]);
    return Buffer.concat([head, data]);
  });
  return Buffer.concat([header, asked.subarray(HEADER_BYTES), ...resources]);
}
