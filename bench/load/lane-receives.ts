import { InboundEvent } from "../../proto/gen/chatbridge/v1/event";
import { ReceiveRequest, type LaneCall, type LaneResponse } from "../../proto/gen/chatbridge/v1/bridge";
import { bearer, type CoreClients, type Workspace } from "../core-clients";
import { CheckFault } from "../part";
import { typedMessage } from "../sample-events";
import { signatureOf } from "../signature";

const IN_FLIGHT = 2_000;
const BATCH = 100;

/**
 * Sends `count` events, each with its own request id, to core over a lane, which
 * is much faster than HTTP through the edge. Resolves when all are accepted;
 * rejects with CheckFault when one is not.
 */
export function receiveOverLane(
  { bridges }: CoreClients,
  workspaces: readonly Workspace[],
  run: string,
  count: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const lane = bridges.lane(bearer("edge"));
    let sent = 0;
    let accepted = 0;
    const settle = (fault?: Error): void => {
      lane.cancel();
      if (fault === undefined) resolve();
      else reject(fault);
    };
    const fill = (): void => {
      const batches = Math.floor((IN_FLIGHT - (sent - accepted)) / BATCH);
      for (let batch = 0; batch < batches; batch++) {
        if (sent === count) return;
        const calls = Array.from({ length: Math.min(BATCH, count - sent) }, () =>
          receiveCall(workspaces[sent % workspaces.length], run, ++sent),
        );
        lane.write({ calls });
      }
    };
    lane.on("error", (error) => {
      if (accepted < count) settle(error);
    });
    lane.on("data", ({ answers }: LaneResponse) => {
      for (const { answer } of answers) {
        const outcome = answer?.$case === "receive" ? answer.value.outcome : undefined;
        if (outcome?.$case !== "accepted" || outcome.value.repeated) {
          return settle(new CheckFault(`core did not accept an event: ${JSON.stringify(answer)}`));
        }
        accepted += 1;
      }
      if (accepted === count) settle();
      else fill();
    });
    fill();
  });
}

function receiveCall(workspace: Workspace | undefined, run: string, number: number): LaneCall {
  if (workspace === undefined) throw new Error("there are no workspaces");
  const text = typedMessage(run, number);
  const body = Buffer.from(text);
  const parsed = JSON.parse(text) as {
    id: string;
    channel: string;
    user: { id: string; name: string };
    text: string;
  };
  const event = InboundEvent.create({
    id: parsed.id,
    channel: { id: parsed.channel },
    user: parsed.user,
    kind: { $case: "message", value: { text: parsed.text } },
  });
  const request = ReceiveRequest.create({
    workspaceId: workspace.id,
    sourceAddress: workspace.address,
    signature: signatureOf(workspace.secret, body),
    body,
    reading: { $case: "event", value: event },
  });
  return { number, call: { $case: "receive", value: request } };
}
