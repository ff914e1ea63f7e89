import type { AttemptStep } from "../../contract/deliveries";
import type { PushOutcome } from "../domain/delivery";
import type { EndSignal } from "../domain/end-signal";
import type { OperatorEvent } from "../domain/operator-event";
import type { Workspace } from "../domain/workspace";

/** Returns the service time in ms since the epoch. The time comes from the store, so all cores use the same clock. */
export type Clock = () => number;

/** Creates signing secrets, unique names, and the ids of events, messages and workspaces. */
export interface Ids {
  /** Returns a new event id: `evt_` and a ULID. */
  event(): string;
  /** Returns a new message id: `msg_` and a ULID. */
  message(): string;
  /** Returns a lower-case UUID. */
  workspace(): string;
  /** Returns a signing secret: 256 random bits as printable text. */
  secret(): string;
  /** Returns a unique token, e.g. to name a stream, a process or a lease. */
  token(): string;
}

/** Thrown when a name is not looked up, because too many other lookups are in progress. */
export class TooManyLookups extends Error {
  override readonly name = "TooManyLookups";
  constructor() {
    super("too many names are being looked up");
  }
}

/** Resolves host names of target URLs and other addresses that belong to workspaces. */
export interface NameLookup {
  /**
   * Returns all addresses of a name, as text. Throws `TooManyLookups`, or another error when the name has no address or
   * DNS does not answer in time.
   */
  addresses(name: string): Promise<readonly string[]>;
}

/** Checks whether events may be pushed to a URL. */
export interface TargetUrlCheck {
  /** Returns why events may not be pushed to the URL, as text for the owner; undefined when the URL is allowed. */
  findFault(url: string): Promise<string | undefined>;
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Identifies the email. A mail program can use this id to drop a second copy. */
  readonly messageId: string;
}

/**
 * Thrown when one email cannot be sent, e.g. because the mail server rejects its recipient. Other emails can still be
 * sent. `cause` has the reason.
 */
export class MailRefused extends Error {
  override readonly name = "MailRefused";
  constructor(
    /** Whether every retry would also fail. */
    readonly isForGood: boolean,
    cause: unknown,
  ) {
    super("the email was rejected", { cause });
  }
}

/** Sends email. */
export interface Mailer {
  /**
   * Throws when the mail server did not accept the email: `MailRefused` if only this email is affected, otherwise
   * another error.
   */
  send(mail: Mail): Promise<void>;
  close(): void;
}

/** The target and the content of one attempt. */
export interface PushAttempt {
  readonly url: URL;
  readonly eventId: string;
  readonly workspaceId: string;
  /** The Service-Signature header over the envelope. */
  readonly signature: string;
  /** The body of the request, which is the event as JSON. */
  readonly envelope: Uint8Array;
  /** The header `traceparent`; undefined when the event is not traced. */
  readonly traceparent?: string | undefined;
  /** This signal is aborted when the outcome is no longer needed. The attempt then fails. */
  readonly signal?: EndSignal | undefined;
}

/** Pushes an event on a separate connection, and reports each step. */
export interface PushTracer {
  /** Makes one attempt and calls `done` after each step, with details for the owner. Never rejects. */
  trace(attempt: PushAttempt, done: (step: AttemptStep, detail: string) => void): Promise<PushOutcome>;
}

/**
 * The result of sending an operator event. After "failed", a retry may succeed; after "refused", it cannot. `detail` is
 * written for operators, and does not contain secrets.
 */
export interface OperatorSent {
  readonly became: "accepted" | "failed" | "refused";
  readonly detail: string;
}

/** An address that gets operator events. */
export interface OperatorReceiver {
  /** Identifies the receiver: "installation-hook", "installation-mail", or the id of the receiver's workspace. */
  readonly key: string;
  readonly kind: "hook" | "mail";
  /** Sends an event once. Never rejects. If `signal` is aborted, an attempt to send to a URL ends. */
  send(event: OperatorEvent, signal?: EndSignal): Promise<OperatorSent>;
  /**
   * Calls `task` as soon as the limit on concurrent tasks for the addresses of workspaces allows it. The workspaces get
   * their turns in rotation, so no workspace waits for all tasks of another workspace.
   */
  inTurn<T>(task: () => Promise<T>): Promise<T>;
  /**
   * Calls `task`, which sends a test operator event, as `inTurn` does. Resolves with "full" when too many tests of the
   * workspace already wait. Rejects with the reason of `signal` when the signal is aborted before the test begins.
   */
  testInTurn<T>(task: () => Promise<T>, signal: EndSignal): Promise<T | "full">;
}

/** The receivers of operator events. */
export interface OperatorReceivers {
  readonly ofInstallation: readonly OperatorReceiver[];
  /**
   * Returns the receiver for the workspace's own address, with its current secrets; undefined without such an address.
   */
  ofWorkspace(workspace: Workspace): OperatorReceiver | undefined;
}
