import { status } from "@grpc/grpc-js";
import {
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthService,
  type HealthServer,
} from "../../proto/gen/grpc/health/v1/health";
import { SERVICES } from "./authorization";
import { StatusError, unary, type ReportFault } from "./status";

export interface HealthServiceContext {
  /** Why core is not ready for calls, or undefined when it is. */
  whyNotReady(): Promise<string | undefined>;
}

/** Anybody may ask, so however many do, readiness is looked up once in this time. */
const REMEMBER_MS = 1_000;

/** gRPC's health service without Watch, which would hold a stream open for callers without a token: they get UNIMPLEMENTED. */
export const HEALTH_METHODS = { check: HealthService.check };

/**
 * Tells probes and load balancers whether core is ready, as /ready does: the same for every service, and for
 * the empty name. A name that core does not serve is NOT_FOUND.
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
        throw new StatusError(status.NOT_FOUND, "core serves nothing of that name");
      }
      return HealthCheckResponse.create({
        status: (await isReady()) ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
      });
    }),
  };
}
