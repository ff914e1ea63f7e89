import { useRef, useState } from "preact/hooks";
import type { DeliveryShape } from "../../proto/json/shapes";
import { newestFirst } from "../words/delivery-list";

export interface HeldLog {
  /** The deliveries to show, newest first. */
  readonly log: readonly DeliveryShape[];
  /** The deliveries that arrived while the log was held, newest first. */
  readonly newer: readonly DeliveryShape[];
  /** Adds the newer deliveries to the log, even while it is held. */
  showNewer(): void;
}

/** Returns the log. While the log is held, newer deliveries are kept in a separate list, so that no row moves. */
export function useHeldLog(deliveries: readonly DeliveryShape[], isHeld: boolean): HeldLog {
  const newest = useRef<DeliveryShape | undefined>(undefined);
  const [, setShown] = useState<DeliveryShape | undefined>(undefined);
  if (!isHeld) newest.current = deliveries[0];
  newest.current ??= deliveries[0];
  const last = newest.current;
  const split = deliveries.findIndex((each) => last === undefined || newestFirst(last, each) <= 0);
  const newer = deliveries.slice(0, Math.max(0, split));
  return {
    log: deliveries.slice(newer.length),
    newer,
    showNewer() {
      newest.current = deliveries[0];
      setShown(deliveries[0]);
    },
  };
}
