import type { FastifyInstance } from "fastify";
import { FAILED_MAX } from "../../contract/deliveries";
import type {
  ChangeShape,
  DeliveryDetailShape,
  DeliveryShape,
  EventShape,
  FailedEventShape,
  SendAgainShape,
  TestOutcome,
} from "../../proto/json/shapes";
import {
  toChangeShape,
  toDeliveryDetailShape,
  toDeliveryShape,
  toEventShape,
  toFailedEventShape,
  toSendAgainShape,
  toTestOutcome,
} from "../../proto/json/workspace-json";
import type { OperatorOf } from "./workspace-client";

/** Core's maximum number of deliveries per call. */
const LOG_PAGE_MAX = 1_000;
const EVENT_ID = { type: "string", maxLength: 64 } as const;
const SEND_AGAIN = {
  body: {
    type: "object",
    additionalProperties: false,
    required: ["eventIds"],
    properties: { eventIds: { type: "array", minItems: 1, maxItems: FAILED_MAX, items: EVENT_ID } },
  },
} as const;

/** Adds the routes that list deliveries and changes, show one delivery with its stored events, and send events. */
export function addStoredRoutes(app: FastifyInstance, operatorOf: OperatorOf): void {
  app.post<{ Params: { id: string } }>(
    "/workspaces/:id/test-event",
    async (request): Promise<TestOutcome> => {
      const { call, methods } = operatorOf(request);
      return toTestOutcome(await call(methods.sendTestEvent, { workspaceId: request.params.id }));
    },
  );

  app.get<{ Params: { id: string } }>(
    "/workspaces/:id/deliveries",
    async (request): Promise<readonly DeliveryShape[]> => {
      const { call, methods } = operatorOf(request);
      const found: DeliveryShape[] = [];
      let pageToken = "";
      do {
        const page = { workspaceId: request.params.id, pageSize: LOG_PAGE_MAX, pageToken };
        const { deliveries, nextPageToken } = await call(methods.listDeliveries, page);
        found.push(...deliveries.map(toDeliveryShape));
        pageToken = nextPageToken;
      } while (pageToken !== "");
      return found;
    },
  );

  app.get<{ Params: { id: string } }>(
    "/workspaces/:id/changes",
    async (request): Promise<readonly ChangeShape[]> => {
      const { call, methods } = operatorOf(request);
      const { changes } = await call(methods.listChanges, { workspaceId: request.params.id });
      return changes.flatMap((change) => toChangeShape(change) ?? []);
    },
  );

  app.get<{ Params: { id: string; deliveryId: string } }>(
    "/workspaces/:id/deliveries/:deliveryId",
    async (request): Promise<DeliveryDetailShape> => {
      const { call, methods } = operatorOf(request);
      const { id: workspaceId, deliveryId } = request.params;
      return toDeliveryDetailShape(await call(methods.getDelivery, { workspaceId, deliveryId }));
    },
  );

  app.get<{ Params: { id: string; eventId: string } }>(
    "/workspaces/:id/events/:eventId",
    async (request): Promise<EventShape> => {
      const { call, methods } = operatorOf(request);
      const { id: workspaceId, eventId } = request.params;
      return toEventShape(await call(methods.getEvent, { workspaceId, eventId }));
    },
  );

  app.post<{ Params: { id: string }; Body: { eventIds: string[] } }>(
    "/workspaces/:id/send-again",
    { schema: SEND_AGAIN },
    async (request): Promise<SendAgainShape> => {
      const { call, methods } = operatorOf(request);
      const wanted = { workspaceId: request.params.id, eventIds: request.body.eventIds };
      return toSendAgainShape(await call(methods.sendAgain, wanted));
    },
  );
}

/** Adds `GET /workspaces/:id/failed-events`, which lists the failed events of a workspace. */
export function addFailedEventsRoute(app: FastifyInstance, operatorOf: OperatorOf): void {
  app.get<{ Params: { id: string } }>(
    "/workspaces/:id/failed-events",
    async (request): Promise<readonly FailedEventShape[]> => {
      const { call, methods } = operatorOf(request);
      const { events } = await call(methods.listFailedEvents, { workspaceId: request.params.id });
      return events.map(toFailedEventShape);
    },
  );
}
