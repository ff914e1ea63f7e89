import type { IncomingMessage, ServerResponse } from "node:http";
import { checkOptions, type BridgeOptions } from "./bridge-options";
import type { BridgeReports } from "./bridge-reports";
import { BridgeRun } from "./bridge-run";
import type { BridgeStatus } from "./bridge-status";
import type { ShownMessage } from "./shown-messages";

export interface Bridge extends BridgeReports {
  /**
   * Starts the bridge. Call `start` only once. In poll mode, resolves at the first successful poll, and rejects if the
   * service refuses the poll (`PollRefused`). While the service is unreachable, the bridge repeats the poll. In push
   * mode, resolves once the bridge listens. Rejects if the port is in use. In both modes, rejects if the store cannot
   * be read, or if another process uses it (`FolderInUse`). If `stop` is called, `start` also resolves.
   */
  start(): Promise<void>;
  /**
   * Stops polling, and rejects further pushes with `503`. Resolves when pending calls to the chat and pending reports
   * are done, or after 10 seconds at the latest. A later run continues where this run stopped.
   */
  stop(): Promise<void>;
  /** The message that the chat shows under this id; undefined if the message is not from the service, or too old. */
  shown(chatMessageId: string): ShownMessage | undefined;
  /** The messages of a channel, or of `dmChannel(userId)`, the most recently posted or updated first. */
  shownIn(channel: string): readonly ShownMessage[];
  /** Receives pushes, for your own HTTP server (see `Receiver.handler`). */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** The same as `stop`. With `fastifyReceiver(bridge, "/events")`, Fastify's `app.close()` calls this method. */
  close(): Promise<void>;
  readonly status: BridgeStatus;
}

/**
 * Makes a bridge between a chat and one workspace. Implements all rules of the contract for bridges: signatures,
 * cursors, retries, duplicates, order, expiry, updates that arrive before their creates, and secret rotation.
 *
 * @throws TypeError or RangeError when an option is missing or invalid
 */
export function createBridge(options: BridgeOptions): Bridge {
  checkOptions(options);
  const run = new BridgeRun(options);
  const stop = () => run.stop();
  return {
    ...run.reports,
    start: () => run.start(),
    stop,
    close: stop,
    shown: (chatMessageId) => run.shown.byChatMessageId(chatMessageId),
    shownIn: (channel) => run.shown.inChannel(channel),
    handler: (request, response) => run.receive(request, response),
    get status() {
      return run.status;
    },
  };
}
