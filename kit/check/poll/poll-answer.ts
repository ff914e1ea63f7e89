import { errorBody } from "../../error-body";
import { sign, SIGNATURE_HEADER } from "../../signature";

/** An answer of the fake service. */
export interface PollAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Number of bytes of the body after which the connection is closed; undefined for a complete answer. */
  readonly breaksAfter?: number;
}

/** Serializes a page as JSON. */
export type WritePage = (page: object) => string;

/** The content of a page, except its cursor. */
export interface PageContent {
  readonly events: readonly object[];
  /** True by default. */
  readonly hasMore?: boolean;
  /** False by default. */
  readonly gap?: boolean;
  /** Further fields of the page. */
  readonly more?: object;
  /** Serializes the page, in place of the function for all pages. */
  readonly write?: WritePage;
  /** Returns the signature header, or null for none. By default, a valid header with the current time. */
  readonly signed?: (body: Buffer) => string | null;
}

/** The properties that all pages of a check share. */
interface AllPages {
  readonly workspace: string;
  readonly secrets: readonly string[];
  readonly write: WritePage;
}

/** Returns the answer with a page. */
export function pageAnswer(
  content: PageContent,
  next: string | null,
  { workspace, secrets, write: writeAny }: AllPages,
): PollAnswer {
  const { events, hasMore = true, gap = false, more, write = writeAny, signed } = content;
  const body = Buffer.from(write({ events, next, hasMore, gap, ...more }));
  const signature = signed === undefined ? sign(body, secrets) : signed(body);
  return {
    status: 200,
    headers: {
      "Content-Type": "application/json",
      "Service-Workspace": workspace,
      ...(signature === null ? {} : { [SIGNATURE_HEADER]: signature }),
    },
    body,
  };
}

/** Returns an answer with an error body. */
export function errorAnswer(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): PollAnswer {
  const body = Buffer.from(errorBody(status, message));
  return { status, headers: { "Content-Type": "application/json", ...headers }, body };
}
