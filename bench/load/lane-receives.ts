import { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import { ReceiveRequest, type LaneCall, type LaneResponse } from "../../proto/gen/chatbridge/v1/bridge";
import { bearer, inTurn, type CoreClients, type Workspace } from "../core-clients";
import { check, CheckFault } from "../part";
import { typedMessage } from "../sample-events";
import { signatureOf } from "./signed-requests";

const IN_FLIGHT = 2_000;
const BATCH = 100;

/**
 * Sends `count` events with different request ids to core over a lane. A lane is
 * much faster than HTTP through the edge. Resolves when all events are accepted.
 * Rejects with CheckFault when core does not accept an event.
 */
export async function receiveOverLane(
  { bridges }: CoreClients,
  workspaces: readonly Workspace[],
  run: string,
  count: number,
): Promise<void> {
  const lane = bridges.lane(bearer("edge"));
  // If the lane fails, the loop below throws. The cancellation at the end emits an expected error.
  lane.on("error", () => undefined);
  let sent = 0;
  let accepted = 0;
  const fill = (): void => {
    while (sent < count && sent + BATCH <= accepted + IN_FLIGHT) {
      const from = sent;
      sent = Math.min(count, from + BATCH);
      const calls = Array.from({ length: sent - from }, (_, i) =>
        receiveCall(inTurn(workspaces, from + i), run, from + i + 1),
      );
      lane.write({ calls });
    }
  };
  fill();
  for await (const { answers } of lane as AsyncIterable<LaneResponse>) {
    for (const { answer } of answers) {
      const outcome = answer?.$case === "receive" ? answer.value.outcome : undefined;
      if (outcome?.$case !== "accepted" || outcome.value.repeated) {
        throw new CheckFault(`core did not accept an event: ${JSON.stringify(answer)}`);
      }
    }
    accepted += answers.length;
    if (accepted === count) break;
    fill();
  }
  lane.cancel();
  check(accepted === count, `core closed the lane after ${accepted} of ${count} events`);
}

function receiveCall(workspace: Workspace, run: string, number: number): LaneCall {
  const message = typedMessage(run, number);
  const { id, channel, user, text } = message;
  const body = Buffer.from(JSON.stringify(message));
  const kind = { $case: "message", value: { text } } as const;
  const request = ReceiveRequest.create({
    workspaceId: workspace.id,
    sourceAddress: workspace.address,
    signature: signatureOf(workspace.secret, body),
    body,
    reading: { $case: "event", value: InboundEvent.create({ id, channel: { id: channel }, user, kind }) },
  });
  return { number, call: { $case: "receive", value: request }, traceparent: "" };
}
