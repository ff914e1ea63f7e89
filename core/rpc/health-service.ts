import { status } from "@grpc/grpc-js";
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthService,
  type HealthServer,
} from "../../proto/gen/grpc/health/v1/health";
import { SERVICES } from "./authorization";
import { StatusError, unary, type ReportFault } from "./status";

export interface HealthServiceContext {
  /** Returns why core is not ready for calls; undefined when core is ready. */
  whyNotReady(): Promise<string | undefined>;
  /**
   * Whether core will stop soon. A core that will stop soon is not ready, even if `whyNotReady` last returned
   * undefined.
   */
  isStopping(): boolean;
}

/** Milliseconds for which readiness is cached, so that frequent calls cost little: this service requires no token. */
const REMEMBER_MS = 1_000;

/**
 * gRPC's health service. `Watch` fails with UNIMPLEMENTED, because callers without a token must not keep a stream open.
 */
export const HEALTH_METHODS = { check: HealthService.check };

/**
 * Reports to probes and load balancers whether core is ready, as `/ready` does. The answer is the same for every
 * service and for the empty name. Throws NOT_FOUND for the name of a service that core does not serve.
 */
export function createHealthService(
  context: HealthServiceContext,
  report: ReportFault,
): Pick<HealthServer, "check"> {
  let known: { readonly at: number; readonly isReady: Promise<boolean> } | undefined;

  function isReady(): Promise<boolean> {
    const now = performance.now();
    if (known === undefined || now - known.at >= REMEMBER_MS) {
      known = { at: now, isReady: context.whyNotReady().then((reason) => reason === undefined) };
    }
    return known.isReady;
  }

  return {
    check: unary("Check", report, async ({ service }) => {
      if (service !== "" && !SERVICES.includes(service)) {
        throw new StatusError(status.NOT_FOUND, "core has no service with this name");
      }
      return {
        status:
          !context.isStopping() && (await isReady()) ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
      };
    }),
  };
}
