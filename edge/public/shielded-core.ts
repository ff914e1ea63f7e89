import { Refusal, type Refused } from "../../proto/gen/chatbridge/v1/bridge";
import type { AddressShield } from "./address-shield";
import type { CoreClient } from "../lane/core-client";

/** Returns a client that answers the requests that the shield refuses, and calls core for all other requests. */
export function shieldCore(core: CoreClient, shield: AddressShield): CoreClient {
  async function ask<Response extends { outcome?: { $case: string; value: unknown } | undefined }>(
    address: string,
    call: () => Promise<Response>,
  ): Promise<Response> {
    const sentAt = performance.now();
    const retryAfterSeconds = shield.refuse(address, sentAt);
    if (retryAfterSeconds !== undefined) {
      const value: Refused = { refusal: Refusal.ADDRESS_LIMIT, violation: undefined, retryAfterSeconds };
      return { outcome: { $case: "refused", value } } as Response;
    }
    const response = await call();
    const { outcome } = response;
    const refusal = outcome?.$case === "refused" ? (outcome.value as Refused).refusal : undefined;
    if (refusal !== Refusal.ADDRESS_LIMIT) shield.admitted(address, sentAt);
    return response;
  }

  return {
    ...core,
    receive: (request, traceparent) => ask(request.sourceAddress, () => core.receive(request, traceparent)),
    poll: (request, traceparent) => ask(request.sourceAddress, () => core.poll(request, traceparent)),
  };
}
