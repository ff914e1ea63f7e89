import type { FastifyInstance, FastifyRequest } from "fastify";
import { FAILED_MAX } from "../../contract/deliveries";
import type { DeliveryDetailShape, FailedEventShape, SendAgainShape } from "../../proto/json/shapes";
import { toDeliveryDetailShape, toFailedEventShape, toSendAgainShape } from "../../proto/json/workspace-json";
import type { Operator } from "./workspace-client";

const EVENT_ID = { type: "string", maxLength: 64 } as const;
const SEND_AGAIN = {
  body: {
    type: "object",
    additionalProperties: false,
    required: ["eventIds"],
    properties: { eventIds: { type: "array", minItems: 1, maxItems: FAILED_MAX, items: EVENT_ID } },
  },
} as const;

/** Adds the routes that show one delivery with its stored events, and send failed events again. */
export function addStoredRoutes(
  app: FastifyInstance,
  operatorOf: (request: FastifyRequest) => Operator,
): void {
  app.get<{ Params: { id: string; deliveryId: string } }>(
    "/workspaces/:id/deliveries/:deliveryId",
    async (request): Promise<DeliveryDetailShape> => {
      const { call, methods } = operatorOf(request);
      const { id: workspaceId, deliveryId } = request.params;
      return toDeliveryDetailShape(await call(methods.getDelivery, { workspaceId, deliveryId }));
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

/** Adds `GET /workspaces/:id/failed-events`, which lists the kept events whose pushes failed. */
export function addFailedEventsRoute(
  app: FastifyInstance,
  operatorOf: (request: FastifyRequest) => Operator,
): void {
  app.get<{ Params: { id: string } }>(
    "/workspaces/:id/failed-events",
    async (request): Promise<readonly FailedEventShape[]> => {
      const { call, methods } = operatorOf(request);
      const { events } = await call(methods.listFailedEvents, { workspaceId: request.params.id });
      return events.map(toFailedEventShape);
    },
  );
}
