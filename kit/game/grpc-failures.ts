import { status } from "@grpc/grpc-js";
import { CoreRejects } from "./core-link";

/** The pauses before retries. */
export const BACK_OFF = { firstMs: 100, mostMs: 5_000 };
/** Statuses with which core rejects the token or the request. */
export const REJECTIONS: readonly status[] = [
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.INVALID_ARGUMENT,
];

/** Returns the error for a status with which core rejects the game. */
export function rejection(code: status, details: string): CoreRejects {
  const advice = REJECTIONS.includes(code) ? "; check that CORE_TOKEN has the role game" : "";
  return new CoreRejects(`core rejects this game${advice}: ${details} (${status[code]})`);
}
