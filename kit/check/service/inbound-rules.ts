import { randomUUID } from "node:crypto";
import { BODY_MAX_BYTES } from "../../../contract/numbers";
import { sign } from "../../signature";
import { Broken, type Rule } from "../rule";
import { DM_CASES, EVENTS, TEXT_CASES, UNKNOWN_CASES, type InboundCase } from "./inbound-cases";
import { expectAccepted, expectRefused, type ServiceTarget } from "./service-target";

/** Advice to the user of the check, by the status of the first `POST`. */
const FIRST_ADVICE: Readonly<Record<number, string>> = {
  401: "the secret is not this workspace's: use the secret that the dashboard showed when the workspace was connected",
  404: "there is no such workspace, or the workspace is disconnected: check the base URL and the id",
  409: "the clocks of this machine and the service are more than 5 minutes apart: correct the wrong clock",
};

export const GATE_RULE: Rule<ServiceTarget> = {
  id: "accepts",
  says: 'A correctly signed message is answered with 202 {"ok":true}.',
  fix: "check the base URL, the workspace and the secret, and read the service's log",
  isGate: true,
  async judge({ post }) {
    const answer = await post(EVENTS.message);
    const advice = FIRST_ADVICE[answer.status];
    if (advice !== undefined) throw new Broken(`a message was answered with ${answer.status}`, advice);
    expectAccepted(answer, "a message");
    return { note: `${answer.ms} ms` };
  },
};

export const BODY_RULES: readonly Rule<ServiceTarget>[] = [
  {
    id: "field-rules",
    says: "Every field is accepted within its bounds, and otherwise rejected with a 400 that names the field.",
    fix: "validate each field against the contract's tables, and name the first invalid field by its dotted path",
    judge: (target) => judgeCases(target, TEXT_CASES),
  },
  {
    id: "unknown-fields",
    says: "Unknown types and fields are rejected with a 400 that names the field.",
    fix: "allow no additional properties in inbound events, or in their channel and user",
    judge: (target) => judgeCases(target, UNKNOWN_CASES),
  },
  {
    id: "dm-channels",
    says: 'A DM channel is "dm:" followed by the event\'s own user.id; a command with a DM channel is rejected.',
    fix: "if a command has a DM channel, or the DM channel is another user's, answer with a 400 that names the field channel",
    judge: (target) => judgeCases(target, DM_CASES),
  },
  {
    id: "body-json",
    says: "A body that is not JSON is answered with a 400 that names no field; JSON that is not an object is answered with 400.",
    fix: "parse the body before you check the workspace, and name no field when parsing fails",
    async judge({ post }) {
      for (const body of ["", "{", '{"type":"message",}', "type=message", "'message'"]) {
        expectRefused(await post(body), 400, `the body ${JSON.stringify(body)}`, null);
      }
      const notUtf8 = Buffer.from(JSON.stringify({ ...EVENTS.message, text: "é" }), "latin1");
      expectRefused(await post(notUtf8), 400, "a body in Latin-1, not in UTF-8,", null);
      for (const body of ["[]", '"message"', "7", "null"]) {
        expectRefused(await post(body), 400, `the body ${body}`);
      }
      return undefined;
    },
  },
  {
    id: "body-size",
    says: "A body of 64 KB is parsed, and its fields are validated; a longer body is answered with 413, without `error` in the answer.",
    fix: "limit bodies to 65,536 bytes",
    async judge({ post }) {
      const ofSize = (bytes: number) => {
        const empty = JSON.stringify({ ...EVENTS.message, text: "" });
        return JSON.stringify({ ...EVENTS.message, text: "x".repeat(bytes - empty.length) });
      };
      expectRefused(await post(ofSize(BODY_MAX_BYTES)), 400, "a body of 65,536 bytes", "text");
      expectRefused(await post(ofSize(BODY_MAX_BYTES + 1)), 413, "a body of 65,537 bytes");
      return undefined;
    },
  },
  {
    id: "repeats",
    says: "A repeated request is answered with 202, and so is a request with a known id and another timestamp.",
    fix: "remember the request ids of each workspace for 24 hours, and answer a repeat with 202",
    async judge({ post, secrets }) {
      const body = JSON.stringify({ ...EVENTS.message, id: randomUUID() });
      const [now, before] = [Date.now(), Date.now() - 60_000].map((at) =>
        sign(body, secrets.slice(0, 1), at),
      );
      for (const [what, signature] of [
        ["a request with an id", now],
        ["an identical request", now],
        ["the same id, signed at another time", before],
      ] as const) {
        expectAccepted(await post(body, { signature: signature ?? null }), what);
      }
      const plain = JSON.stringify(EVENTS.message);
      const signature = sign(plain, secrets.slice(0, 1));
      for (const what of ["a request without an id", "an identical request without an id"]) {
        expectAccepted(await post(plain, { signature }), what);
      }
      return { unchecked: "whether games see the event only once" };
    },
  },
];

async function judgeCases({ post }: ServiceTarget, cases: readonly InboundCase[]): Promise<{ note: string }> {
  for (const { what, event, field } of cases) {
    const answer = await post(event);
    if (field === undefined) expectAccepted(answer, what);
    else expectRefused(answer, 400, what, field);
  }
  return { note: `${cases.length} cases` };
}
