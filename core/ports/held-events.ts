import type { PageStart } from "../domain/cursor";
import type { WorkspaceRecord } from "./workspaces";

/** A poll that passed check 1 and checks 3 to 5. */
export interface PageRequest {
  /** The record that checks 3 to 5 were made with. */
  readonly record: WorkspaceRecord;
  /** The sending address, in canonical form, for check 2; left out when that is made already. */
  readonly address?: string | undefined;
  /** The page to read, or "count" when it will be refused: then it only counts against the limit. */
  readonly page: { readonly start: PageStart; readonly limit: number } | "count";
}

export type PageAnswer =
  | {
      readonly outcome: "page";
      /** The wire bytes of each event. */
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
  /** By check 2, or by check 6. */
  | { readonly outcome: "address-limited" | "limited"; readonly retryAfterSeconds: number };

/** Events held for polling bridges. */
export interface HeldEvents {
  /** Makes checks 2 and 6 and reads the page, in this order. On a cluster check 2 is a step before. */
  page(request: PageRequest): Promise<PageAnswer>;
}
