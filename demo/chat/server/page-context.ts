import type { Bridge } from "../link/bridge";
import type { Room } from "../room/room";
import type { Member, StreamEvent } from "../shapes";
import type { WireLog } from "../wire/wire-log";
import type { DashboardLinks } from "./dashboard-links";

/** The parts of the chat that the page's server uses. */
export interface PageContext {
  readonly room: Room;
  readonly wire: WireLog;
  readonly bridge: Bridge;
  /** Undefined if DASHBOARD_URL is not set. */
  readonly dashboard: DashboardLinks | undefined;
  /** One function for each open page, called with every event of the stream. */
  readonly pages: Set<(event: StreamEvent) => void>;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The member who sent the request; unset only for requests that need no key. */
    member: Member;
  }
}
