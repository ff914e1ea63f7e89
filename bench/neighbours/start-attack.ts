import { createServer, type Socket } from "node:net";
import { listen } from "../load/receive-pushes";
import { ATTACKS, type AttackName } from "./attacks";
import type { Taken } from "./hostile/hostile";
import { connectTenant } from "./tenant-client";
import type { Place, Tenant } from "./tenant";

export interface AttackOptions {
  readonly place: Place;
  readonly tenant: Tenant;
  readonly victimId: string;
  readonly signal: AbortSignal;
}

/** The result of an attack. `release` must be called. */
export interface Started extends Taken {
  /** Whether the attack still uses resources, e.g. open streams. */
  readonly keeps: boolean;
  readonly release: () => Promise<void>;
}

/** Makes one attack. Resolves when all attempts are answered. */
export async function startAttack(
  name: AttackName,
  { place, tenant, victimId, signal }: AttackOptions,
): Promise<Started> {
  const client = connectTenant(place, tenant);
  const accepted = new Set<Socket>();
  const dead = createServer((socket) => {
    accepted.add(socket);
    socket
      .on("error", () => undefined)
      .on("close", () => accepted.delete(socket))
      .resume();
  });
  const close = async (): Promise<void> => {
    await client.close();
    for (const socket of accepted) socket.destroy();
    dead.close();
  };
  try {
    const deadUrl = `https://127.0.0.1:${await listen(dead)}/`;
    const taken = await ATTACKS[name]({ place, tenant, client, victimId, deadUrl, signal });
    const release = async (): Promise<void> => {
      await taken.release?.();
      await close();
    };
    return { ...taken, keeps: taken.release !== undefined, release };
  } catch (error) {
    await close();
    throw error;
  }
}
