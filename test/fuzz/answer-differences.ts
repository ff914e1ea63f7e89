import { RESPONSE_MAX_BYTES } from "../../contract/deliveries";
import type { NodeAnswer } from "./node-answer";

/** The result of core's parser. */
export interface CoreAnswer {
  readonly state: "head" | "rejected" | "body" | "ended" | "spent";
  /** The reason for a rejection, or "" if there is none. */
  readonly reason: string;
  readonly status: number;
  /** The start of the answer's body; empty if the status is 2xx. */
  readonly start: Buffer;
  readonly piecesRead: number;
  /** Whether the connection received more bytes after a complete answer. */
  readonly isFollowed: boolean;
}

/**
 * The final head of an answer, the heads of interim answers (1xx) before it, and the bytes after it. In the heads, bare
 * line feeds are replaced by CR LF.
 */
interface Parts {
  /** Whether a line of the heads ended with a bare line feed. */
  readonly hasBareLineFeed: boolean;
  /** The heads of interim answers, with their header fields. */
  readonly interim: readonly string[];
  readonly head: string;
  readonly body: string;
}

interface Difference {
  /** The reason, in the words of docs/decisions/0018-own-push-client.md. */
  readonly reason: string;
  /** Returns whether this reason explains why the two parsers read an answer differently. */
  explains(parts: Parts, core: CoreAnswer, node: NodeAnswer): boolean;
}

const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d( [\t\x20-\x7e\x80-\xff]*)?$/;
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d/;
const FRAMING = /^(?:content-length|transfer-encoding|connection):/im;
const isAccepted = ({ state }: CoreAnswer) => state !== "rejected" && state !== "head";
const isRejected = ({ status, error }: NodeAnswer) => status === 0 && error !== "";

/** All accepted differences between core's parser and Node's. */
export const DIFFERENCES: readonly Difference[] = [
  {
    reason: "core rejects status lines that RFC 9112 does not allow",
    explains: ({ head, interim }, core) =>
      core.reason === "no HTTP/1.1 status line" &&
      [...interim, head].some((each) => !STATUS_LINE.test(firstLine(each))),
  },
  {
    reason: "core rejects 101",
    explains: ({ head }, { reason }) =>
      reason === "an unexpected switch of protocols" && /^HTTP\/1\.[01] 101/.test(head),
  },
  {
    reason: "core accepts equal lengths",
    explains({ head }, core, node) {
      const all = valuesOf(head, "content-length");
      return isAccepted(core) && isRejected(node) && all.length > 1 && new Set(all).size === 1;
    },
  },
  {
    reason: "core accepts a length of any number of digits",
    explains: ({ head }, core) =>
      core.state !== "ended" && valuesOf(head, "content-length").some((each) => /^\d{20,}$/.test(each)),
  },
  {
    reason: "core ignores the headers of interim answers",
    explains: ({ interim, head }, _core, node) =>
      isRejected(node) &&
      [...interim, head].some(
        (each) => INTERIM.test(each) && (each.startsWith("HTTP/1.0") || FRAMING.test(each)),
      ),
  },
  {
    reason: "core accepts lines of a head that end with a bare line feed, and then closes the connection",
    explains: ({ hasBareLineFeed }, { state }, node) =>
      hasBareLineFeed && isRejected(node) && state !== "rejected" && state !== "ended",
  },
  {
    reason: "core ignores tabs around the values of headers",
    explains: ({ head }, core) =>
      isAccepted(core) && /^(?:content-length|transfer-encoding|connection):.*\t/im.test(head),
  },
  {
    reason: "core closes connections of HTTP/1.0",
    explains: ({ head }, core) => core.state === "spent" && head.startsWith("HTTP/1.0"),
  },
  {
    reason: "core accepts folded headers",
    explains: ({ head, interim }, core, node) =>
      core.state !== "rejected" &&
      isRejected(node) &&
      [...interim, head].some((each) => /\r\n[\t ]/.test(each)),
  },
  {
    reason: "core reads a body with any coding other than chunked until the connection is closed",
    explains({ head }, core) {
      const codings = valuesOf(head, "transfer-encoding").join().toLowerCase();
      return (
        core.state !== "ended" &&
        isAccepted(core) &&
        codings !== "chunked" &&
        /^transfer-encoding:/im.test(head)
      );
    },
  },
  {
    reason: "core accepts a length together with a coding, and then closes the connection",
    explains: ({ head }, core) =>
      core.state !== "ended" &&
      isAccepted(core) &&
      /^transfer-encoding:/im.test(head) &&
      /^content-length:/im.test(head),
  },
  {
    reason: "core closes the connection after a 204 or 304 that announces a body",
    explains: ({ head }, core) =>
      core.state === "spent" && / (?:204|304)\b/.test(firstLine(head)) && FRAMING.test(head),
  },
  {
    reason: "core and Node allow different white space and extensions in the line of a chunk",
    explains: ({ head, body }, core) =>
      isChunked(head) && isAccepted(core) && /(?:^|\r\n)[\da-f]+[\t ]*(?:;.*|[\t ])(?:\r\n|$)/i.test(body),
  },
  {
    reason: "core closes the connection after a chunk size of more than 8 digits",
    explains: ({ head, body }, core) =>
      isChunked(head) && core.state === "spent" && /(?:^|\r\n)[\da-f]{9,}/i.test(body),
  },
  {
    reason: "core ignores a length in a trailer",
    explains: ({ head, body }, core, { error }) =>
      isChunked(head) &&
      isAccepted(core) &&
      error !== "" &&
      /\r\n(?:content-length|transfer-encoding):/i.test(body),
  },
];

/**
 * Returns undefined if the results are equal; otherwise the documented reason for their difference, or a description of
 * both results if there is no such reason.
 */
export function differenceOf(
  text: string,
  core: CoreAnswer,
  node: NodeAnswer,
): { readonly reason: string } | { readonly words: string } | undefined {
  if (isSame(core, node)) return undefined;
  const parts = partsOf(text);
  const found = DIFFERENCES.find(({ explains }) => explains(parts, core, node));
  if (found !== undefined) return { reason: found.reason };
  return {
    words: `core ${core.state} ${core.status} ${core.reason}, Node ${nodeState(node)} ${node.status} ${node.error}`,
  };
}

function isSame(core: CoreAnswer, node: NodeAnswer): boolean {
  const state = nodeState(node);
  if (core.state === "head" || core.state === "rejected") return state === core.state;
  if (core.status !== node.status || !isSameStart(core, node)) return false;
  switch (core.state) {
    case "ended":
      return state === "ended" && node.piecesRead === core.piecesRead;
    case "body":
      return state === "body";
    case "spent":
      return state === "broken" || state === "closes" || (state === "ended" && core.isFollowed);
  }
}

/**
 * Core collects the start of a body unless the status is 2xx. The parsers can stop at different points of a broken
 * body.
 */
function isSameStart({ start, status, state }: CoreAnswer, { body }: NodeAnswer): boolean {
  if (status < 300) return true;
  const wanted = body.subarray(0, RESPONSE_MAX_BYTES);
  const common = Math.min(start.length, wanted.length);
  return (
    start.subarray(0, common).equals(wanted.subarray(0, common)) &&
    (state === "spent" || start.length === wanted.length)
  );
}

function nodeState({ status, error, isComplete, isReusable }: NodeAnswer) {
  if (status === 0) return error === "" ? "head" : "rejected";
  if (error !== "") return "broken";
  if (!isComplete) return "body";
  return isReusable ? "ended" : "closes";
}

function partsOf(text: string): Parts {
  const interim: string[] = [];
  for (let at = 0, hasBareLineFeed = false; ;) {
    const rest = text.slice(at);
    const end = /\n\r?\n/.exec(rest);
    const lines = end === null ? rest : rest.slice(0, end.index + 1);
    hasBareLineFeed ||= /(?<!\r)\n/.test(`${lines}${end?.[0].slice(1) ?? ""}`);
    const head = lines.replaceAll(/\r?\n/g, "\r\n");
    const length = end === null ? rest.length : end.index + end[0].length;
    if (end === null || !INTERIM.test(head)) {
      return { hasBareLineFeed, interim, head, body: rest.slice(length) };
    }
    interim.push(head);
    at += length;
  }
}

const firstLine = (head: string) => head.split("\r\n", 1)[0] ?? "";
const isChunked = (head: string) => /^transfer-encoding:.*chunked/im.test(head);

/** Returns the comma-separated values of all header fields with this name. */
function valuesOf(head: string, name: string): readonly string[] {
  const lines = head.replaceAll(/\r\n[\t ]+/g, " ").split("\r\n");
  const fields = lines.filter((line) => line.toLowerCase().startsWith(`${name}:`));
  return fields
    .flatMap((line) => line.slice(name.length + 1).split(","))
    .map((value) => value.replaceAll(/^[\t ]+|[\t ]+$/g, ""));
}
