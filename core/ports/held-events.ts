import type { PageStart } from "../domain/cursor";
import type { WorkspaceRecord } from "./workspaces";

/** A poll that passed check 1 and checks 3 to 5. */
export interface PageRequest {
  /** The record that checks 3 to 5 used. */
  readonly record: WorkspaceRecord;
  /** The sender's address in canonical form, for check 2; undefined when that check has already passed. */
  readonly address?: string | undefined;
  /** The page to read, or "count" for a poll that will be refused: it only counts against the limits. */
  readonly page: { readonly start: PageStart; readonly limit: number } | "count";
}

export type PageAnswer =
  | {
      readonly outcome: "page";
      /** The wire bytes of each event. */
      readonly events: readonly Buffer[];
      /**
       * The sequence of the last event on the page; undefined when the page is empty. For a start from the latest, the
       * newest sequence.
       */
      readonly last: string | undefined;
      readonly hasMore: boolean;
      /** Whether events after the request's cursor expired before the page was read. */
      readonly gap: boolean;
    }
  | { readonly outcome: "counted" }
  /** The record has changed since it was read. The caller must repeat the checks from check 3. */
  | { readonly outcome: "stale" }
  /** Refused by check 2 ("address-limited") or check 6 ("limited"). */
  | { readonly outcome: "address-limited" | "limited"; readonly retryAfterSeconds: number };

/** Events held for polling bridges. */
export interface HeldEvents {
  /** Makes checks 2 and 6, then reads the page. On a cluster, check 2 is a separate step before the others. */
  page(request: PageRequest): Promise<PageAnswer>;
}
