import type { DeliveryShape, HealthShape, RequestsShape, WorkspaceShape } from "../../proto/json/shapes";
import { useNow } from "../clock";
import { minuteOf } from "../words/log-filter";
import { isInUse, showsNextSteps } from "../words/next-steps";
import { DeliveryLog } from "./delivery-log";
import { HealthCard } from "./health-card";
import { NextStepsCard } from "./next-steps-card";
import { RequestsCard } from "./requests-card";
import { TestEventCard } from "./test-event-card";
import { TrafficCard } from "./traffic-card";
import { useLogView } from "./use-log-view";
import { useTicks } from "./use-ticks";
import type { Liveness } from "./workspace-watch";

export interface OverviewProps {
  readonly workspace: WorkspaceShape;
  readonly health: HealthShape;
  /** Newest first; undefined while loading. */
  readonly deliveries: readonly DeliveryShape[] | undefined;
  readonly requests: RequestsShape | undefined;
  readonly liveness: Liveness;
  /** Whether the shown state may be outdated. */
  readonly isStale: boolean;
}

/**
 * The first tab of a workspace's page: whether the bridge works, what to do next, and what happened. Only the small
 * card for test events is placed beside the steps or the chart. The bridge's requests can fill a screen, so their card
 * has its own row. The order of the elements is the reading order on every screen, so a chart beside the card for test
 * events comes before that card.
 */
export function Overview({ workspace, health, deliveries, requests, liveness, isStale }: OverviewProps) {
  const used = useTicks(workspace.id);
  const now = useNow(60_000);
  const isAlive = workspace.custom && workspace.connected;
  const isUsed = isInUse(deliveries ?? [], now);
  // Until the log is loaded, it is unknown whether a workspace is new, unless the workspace was never used.
  const isKnown = deliveries !== undefined || health?.state === "unused";
  const isNew = isKnown && showsNextSteps(workspace, health, used.ticks, used.begun, now, isUsed);
  const hasTraffic = isAlive && (!isNew || (deliveries ?? []).length > 0);
  const { filter, show } = useLogView();
  function showMinute(startMs: number): void {
    show({ filter: { ...filter, ...minuteOf(startMs) }, page: 1 });
    // Setting the focus also scrolls to the log.
    document.getElementById("log-title")?.focus();
  }
  const traffic = hasTraffic && (
    <TrafficCard
      key="traffic"
      deliveries={deliveries}
      mode={workspace.mode}
      isWide={isNew}
      onMinute={showMinute}
    />
  );
  return (
    <>
      <div class="overview">
        <HealthCard workspace={workspace} health={health} isStale={isStale} />
        {isNew ? (
          <NextStepsCard workspace={workspace} health={health} requests={requests} used={used} />
        ) : (
          traffic
        )}
        {isAlive && (
          <TestEventCard key="test-event" workspace={workspace} health={health} liveness={liveness} />
        )}
        {isNew && traffic}
        {isAlive && <RequestsCard key="requests" workspace={workspace} requests={requests} />}
      </div>
      <DeliveryLog deliveries={deliveries} workspace={workspace} />
    </>
  );
}
