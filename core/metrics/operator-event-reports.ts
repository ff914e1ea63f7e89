import type { Logger } from "pino";
import type { ShardWatchContext } from "../delivery/shard-watch";
import type { createCoreMetrics } from "./core-metrics";

type Counts = ReturnType<typeof createCoreMetrics>["counts"];

/** Returns the functions that count and log the attempts to deliver operator events, and the dropped events. */
export function operatorEventReports(
  counts: Pick<Counts, "operatorEvents" | "operatorEventsDropped">,
  log: Logger,
): Pick<ShardWatchContext, "onOperatorEventSent" | "onOperatorEventsDropped"> {
  return {
    onOperatorEventSent({ id, type, workspaceId }, { key, kind }, { became, detail }) {
      counts.operatorEvents[became] += 1;
      const receiver = key === workspaceId ? `workspace-${kind}` : key;
      const facts = { id, type, workspaceId, receiver };
      if (became === "accepted") log.info(facts, "an operator event was delivered");
      else if (became === "failed") {
        log.warn({ ...facts, detail }, "an operator event could not be delivered; core will retry");
      } else {
        log.error(
          { ...facts, detail },
          "an operator event was rejected permanently, so core dropped the event; check the address",
        );
      }
    },
    onOperatorEventsDropped(count, reason) {
      counts.operatorEventsDropped[reason] += count;
      log.error({ count, reason }, "operator events were dropped undelivered; check their receivers");
    },
  };
}
