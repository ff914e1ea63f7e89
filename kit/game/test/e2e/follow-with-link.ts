import { typeIn } from "../../../../test/harness/followers";
import { TOKENS } from "../../../../test/harness/processes";
import type { Service, TestWorkspace } from "../../../../test/harness/service";
import { until } from "../../../../test/harness/wait";
import { OutboundEvent, type Delivery } from "../../../../proto/gen/chatbridge/v1/game";
import { MessageKind } from "../../../../proto/gen/chatbridge/v1/event";
import type { OpenStream } from "../../core-link";
import { GrpcLink, type GrpcLinkOptions } from "../../grpc-link";

const links = new Set<GrpcLink>();
let groups = 0;

/** Returns the name of a new group. */
export const newGroup = (): string => `link-${process.pid}-${++groups}-${Date.now()}`;

/** Closes the links of `followWithLink`. */
export async function closeLinks(): Promise<void> {
  await Promise.all([...links].map((link) => link.close()));
  links.clear();
}

/** A log that keeps its lines. */
export function keptLog() {
  const lines: { readonly level: string; readonly message: string; readonly fields: object }[] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields });
  return { lines, info: at("info"), warn: at("warn"), error: at("error") };
}

/** Follows a new group with a link, and records the calls of the listener. */
export function followWithLink(port: number, options: Partial<GrpcLinkOptions> = {}) {
  const log = keptLog();
  const link = new GrpcLink({
    address: `127.0.0.1:${port}`,
    token: TOKENS.game,
    tls: undefined,
    group: newGroup(),
    consumer: "one",
    log,
    ...options,
  });
  links.add(link);
  const deliveries: Delivery[] = [];
  const owned = new Set<number>();
  const streams: OpenStream[] = [];
  let ends = 0;
  link.follow({
    opened: (stream) => void streams.push(stream),
    gained: (shards) => shards.forEach((shard) => owned.add(shard)),
    lost: (shards) => shards.forEach((shard) => owned.delete(shard)),
    delivered: (delivery) => void deliveries.push(delivery),
    ended: () => {
      ends += 1;
      owned.clear();
    },
  });
  return {
    link,
    log,
    deliveries: deliveries as readonly Delivery[],
    owned: owned as ReadonlySet<number>,
    streams: streams as readonly OpenStream[],
    get ends() {
      return ends;
    },
    sees: (count: number) =>
      until(
        `${count} deliveries, of which ${deliveries.length} had arrived before`,
        () => deliveries.length >= count && deliveries,
      ),
    reopened: (count: number) => until(`stream ${count} is open`, () => streams.length >= count),
  };
}

/** Returns the texts and attempts of deliveries of typed messages, e.g. `hi/1`. */
export const attemptsOf = (deliveries: readonly Delivery[]): readonly string[] =>
  deliveries.map(({ received, attempt }) => {
    const kind = received?.event?.kind;
    return `${kind?.$case === "message" ? kind.value.text : (kind?.$case ?? "nothing")}/${attempt}`;
  });

export const typeTo = (
  service: Service,
  workspace: TestWorkspace,
  ...texts: readonly string[]
): Promise<void> => typeIn(service.url, workspace, ...texts);

export function messageEvent(workspaceId: string, text: string, idempotencyKey: string): OutboundEvent {
  const value = { channel: "c1", message: { kind: MessageKind.CARD, text } };
  return OutboundEvent.create({ workspaceId, idempotencyKey, content: { $case: "messageCreate", value } });
}
