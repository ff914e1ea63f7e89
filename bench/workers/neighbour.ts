import { play, type Neighbour, type Outcomes, type PlayOptions, type Report } from "../neighbours/neighbour";
import type { Place, Tenant } from "../neighbours/tenant";
import { serveWorker } from "../worker";
import { setTimeout as sleep } from "node:timers/promises";

/** The calls of a worker that runs the neighbour. In the attacker's process, the attack would delay the neighbour. */
export type NeighbourWorker = typeof calls;

interface Start extends PlayOptions {
  readonly place: Place;
  readonly tenant: Tenant;
}

let neighbour: Neighbour | undefined;

function playing(): Neighbour {
  if (neighbour === undefined) throw new Error("the neighbour has not started: call start first");
  return neighbour;
}

const calls = {
  async start({ place, tenant, ...options }: Start): Promise<void> {
    neighbour = await play(place, tenant, options);
  },

  /** Returns the outcomes of the calls that are answered within the next `seconds`. */
  async measure({ seconds }: { readonly seconds: number }): Promise<Outcomes> {
    playing().turn();
    await sleep(seconds * 1000);
    return playing().turn();
  },

  stop: (_input: undefined): Promise<Report> => playing().stop(),
};

serveWorker(calls);
