import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { ReceivedRequest } from "./receiver";

/** The envelope of a pushed event: the fields that every event has. Other fields depend on the type. */
export interface PushedEvent {
  readonly id: string;
  readonly type: string;
  readonly workspace: string;
  readonly sequence: number;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly [field: string]: unknown;
}

const CLOCK_TOLERANCE_SECONDS = 5 * 60;

/**
 * Checks the method, the headers and the signatures of a push. The code is independent of the service.
 * `Service-Signature` must have one signature for each secret, newest first. Returns the envelope; throws an
 * AssertionError when a check fails.
 */
export function verifyPush(request: ReceivedRequest, secrets: readonly string[]): PushedEvent {
  const { method, headers, body } = request;
  assert.equal(method, "POST");
  assert.equal(headers["content-type"], "application/json");

  const header = String(headers["service-signature"]);
  const timestamp = /^t=([0-9]+)(?:,v1=[0-9a-f]{64})+$/.exec(header)?.[1];
  assert(timestamp !== undefined, `Service-Signature has an unexpected format: ${header}`);
  const expected = secrets.map((secret) => {
    const digest = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
    return `,v1=${digest}`;
  });
  assert.equal(header, `t=${timestamp}${expected.join("")}`, "Service-Signature does not match the secrets");
  const skewSeconds = Math.abs(request.atEpochMs / 1000 - Number(timestamp));
  assert(
    skewSeconds <= CLOCK_TOLERANCE_SECONDS,
    `the signed timestamp is ${skewSeconds} s away from the time of the request`,
  );

  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  const event = JSON.parse(text) as PushedEvent;
  assert.equal(headers["service-event-id"], event.id, "Service-Event-Id is not the envelope's id");
  assert.equal(
    headers["service-workspace"],
    event.workspace,
    "Service-Workspace is not the envelope's workspace",
  );
  return event;
}
