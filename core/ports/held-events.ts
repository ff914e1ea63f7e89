import type { PageStart } from "../domain/cursor";
import type { WorkspaceRecord } from "./workspaces";

/** A poll that passed checks 1 to 5. */
export interface PageRequest {
  /** The record that checks 3 to 5 were made with. */
  readonly record: WorkspaceRecord;
  /** The page to read, or "count" when it will be refused: then it only counts against the limit. */
  readonly page: { readonly start: PageStart; readonly limit: number } | "count";
}

export type PageAnswer =
  | {
      readonly outcome: "page";
      /** The events' wire bytes, in pieces, each of events joined by commas. */
      readonly events: readonly Buffer[];
      /** The last event's sequence; for a start from the latest, the newest; undefined when there are no events. */
      readonly last: string | undefined;
      readonly hasMore: boolean;
      /** Events after the cursor that the page starts from expired before it was read. */
      readonly gap: boolean;
    }
  | { readonly outcome: "counted" }
  /** The record has changed since it was read: decide again from check 3. */
  | { readonly outcome: "stale" }
  | { readonly outcome: "limited"; readonly retryAfterSeconds: number };

/** Events held for polling bridges. */
export interface HeldEvents {
  /** Makes check 6 and reads the page in one step. */
  page(request: PageRequest): Promise<PageAnswer>;
}
