import { credentials, Metadata } from "@grpc/grpc-js";
import { createOperator } from "../deploy/local/operator";
import { BridgeServiceClient } from "../proto/gen/chatbridge/v1/bridge";
import { GameServiceClient, type OutboundEvent } from "../proto/gen/chatbridge/v1/game";
import { CheckFault } from "./part";

/** Clients of core's services. */
export type CoreClients = ReturnType<typeof connectToCore>;

export interface Workspace {
  readonly id: string;
  readonly secret: string;
  /** Source address of the bridge's requests. */
  readonly address: string;
}

export const TOKENS = {
  edge: "edge-token-of-the-benchmark",
  game: "game-token-of-the-benchmark",
  operator: "operator-token-of-the-benchmark",
} as const;

const ANSWER_WITHIN_MS = 30_000;
const CREATED_AT_ONCE = 64;

/**
 * Number of source addresses. The edge trusts the load generator as a proxy, so it reads the addresses from
 * `X-Forwarded-For`. Each address may send 500 requests per second, so the address limit does not slow down any load.
 * All addresses have the same length, so that all requests have the same length.
 */
export const ADDRESSES = 256;
const LAST_OCTETS = 128;

export function connectToCore(address: string) {
  const bridges = new BridgeServiceClient(address, credentials.createInsecure());
  const games = new GameServiceClient(address, credentials.createInsecure());
  const operator = createOperator(address, TOKENS.operator);
  return {
    bridges,
    games,
    operator,
    close() {
      for (const client of [bridges, games, operator]) client.close();
    },
  };
}

export function bearer(role: keyof typeof TOKENS): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${TOKENS[role]}`);
  return metadata;
}

const AS_GAME = bearer("game");

/** Creates workspaces, `CREATED_AT_ONCE` at a time. Without `targetUrl`, they are poll workspaces. */
export async function createWorkspaces(
  { operator }: CoreClients,
  count: number,
  targetUrl = "",
): Promise<readonly Workspace[]> {
  const made: Workspace[] = [];
  let asked = 0;
  const makeSome = async (): Promise<void> => {
    while (asked < count) {
      const { workspace, signingSecret } = await operator.create(`Workspace ${++asked}`, targetUrl);
      made.push({ id: workspace?.id ?? "", secret: signingSecret, address: addressOf(made.length) });
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, makeSome));
  return made;
}

export function addressOf(number: number): string {
  const n = number % ADDRESSES;
  return `10.100.${100 + Math.floor(n / LAST_OCTETS)}.${100 + (n % LAST_OCTETS)}`;
}

/** Returns the workspace that receives the request or event with this number. Workspaces take turns. */
export function inTurn(workspaces: readonly Workspace[], number: number): Workspace {
  const workspace = workspaces[number % workspaces.length];
  if (workspace === undefined) throw new Error("there are no workspaces");
  return workspace;
}

/** Publishes events in one call. Rejects with CheckFault unless core publishes all events. */
export function publish({ games }: CoreClients, events: OutboundEvent[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { deadline: Date.now() + ANSWER_WITHIN_MS };
    games.publishEvents({ events }, AS_GAME, options, (error, response) => {
      const outcomes = response?.results.map(({ outcome }) => outcome) ?? [];
      const rejected = outcomes.find((outcome) => outcome?.$case !== "published");
      if (error !== null) reject(new CheckFault(`a call to core failed: ${error.message}`));
      else if (rejected !== undefined)
        reject(new CheckFault(`core rejected an event: ${JSON.stringify(rejected)}`));
      else if (outcomes.length !== events.length)
        reject(new CheckFault("core did not return one result for each event"));
      else resolve();
    });
  });
}
