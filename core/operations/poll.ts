import { signatureHeader } from "../domain/signature";
import { activeKeys, deliveryMode, type Workspace } from "../domain/workspace";
import type { HeldEvents, PageAnswer, PageStart } from "../ports/outbound-events";
import { judgeCaller, type Caller, type JudgeContext } from "./judge-caller";
import type { FieldViolation, Refusal } from "./refusal";

/** One poll from a bridge. */
export interface PollInput extends Omit<Caller, "signed"> {
  /** Everything after the "?", exactly as sent. */
  readonly queryString: string;
  /** The query as the edge parsed it, or the first rule that the query breaks. */
  readonly reading:
    | { readonly start: PageStart; readonly limit: number }
    | { readonly violation: FieldViolation };
}

/** A page, as the exact bytes that were signed. */
export interface SignedPage {
  readonly body: Uint8Array;
  readonly signature: string;
  readonly workspaceId: string;
  /** Must be called when the page has been sent or dropped (see `PageAnswer`). */
  readonly release?: (() => void) | undefined;
}

/**
 * Answers a poll (`GET /hooks/{workspaceId}/events`) immediately: there is no long polling. Applies checks 2 to 8 of
 * the table in docs/checks.md. Check 7 applies to the query. If several checks fail, the first of them determines the
 * answer.
 */
export function poll(
  context: JudgeContext & { readonly heldEvents: HeldEvents },
  input: PollInput,
): Promise<SignedPage | Refusal> {
  const { workspaceId, sourceAddress, signature, queryString, reading } = input;
  return judgeCaller<SignedPage>(
    context,
    { workspaceId, sourceAddress, signature, signed: queryString },
    async ({ record, address }) => {
      const { workspace } = record;
      const refusal: Refusal | undefined =
        "violation" in reading
          ? { refused: "invalid", violation: reading.violation }
          : deliveryMode(workspace) === "push"
            ? { refused: "push-workspace" }
            : undefined;
      const page = "violation" in reading || refusal !== undefined ? "count" : reading;
      const answer = await context.heldEvents.page({ record, address, page });
      switch (answer.outcome) {
        case "stale":
          return "stale";
        case "address-limited": // check 2
          return { refused: "address-limit", retryAfterSeconds: answer.retryAfterSeconds };
        case "limited": // check 6
          return { refused: "workspace-limit", retryAfterSeconds: answer.retryAfterSeconds };
        case "counted":
          if (refusal === undefined)
            throw new Error("the store only counted a poll, but should have read its page");
          return refusal;
        case "page": {
          if ("violation" in reading)
            throw new Error("the store read a page for a poll that must be rejected");
          return signPage(answer, reading.start, workspace, context.now());
        }
      }
    },
  );
}

type Page = Extract<PageAnswer, { outcome: "page" }>;

function signPage(page: Page, start: PageStart, workspace: Workspace, nowMs: number): SignedPage {
  const { release } = page;
  try {
    const body = renderPage(page, start);
    const signature = signatureHeader(body, activeKeys(workspace, nowMs), nowMs);
    return { body, signature, workspaceId: workspace.id, release };
  } catch (error) {
    release?.();
    throw error;
  }
}

const COMMA = 0x2c;
const PAGE_START = Buffer.from('{"events":[');

/**
 * Renders an `EventPage`. When there are no newer events, `next` is the cursor exactly as the bridge sent it.
 *
 * The bytes are copied into one buffer before signing. Copying takes less time than updating an HMAC with each of 100
 * small events.
 */
function renderPage(page: Page, start: PageStart): Buffer {
  const next = page.last ?? (start.from === "after" ? start.cursor : null);
  const end = `],"next":${JSON.stringify(next)},"hasMore":${page.hasMore},"gap":${page.gap}}`;
  let bytes = PAGE_START.length + Math.max(0, page.events.length - 1) + end.length;
  for (const piece of page.events) bytes += piece.length;
  const body = Buffer.allocUnsafe(bytes);
  let at = PAGE_START.copy(body);
  for (const piece of page.events) {
    if (at > PAGE_START.length) body[at++] = COMMA;
    body.set(piece, at);
    at += piece.length;
  }
  body.write(end, at, "latin1");
  return body;
}
