import type { BridgeChat } from "./bridge-chat";
import { UUID_FORM } from "../contract/forms";
import type { ListenOptions } from "./listen";
import type { BridgeStore } from "./message-store";
import type { Secrets } from "./secrets";

export interface BridgeOptions {
  /** The service's base address, such as `https://games.example`. */
  readonly baseUrl: string;
  /** UUID of the workspace, from the dashboard. */
  readonly workspaceId: string;
  /** The signing secret from the dashboard; during a rotation, a list with the new secret first; or a function. */
  readonly secrets: Secrets;
  readonly chat: BridgeChat;
  /** Store for the cursor and the chat's message ids, such as `folderStore("./state")`. */
  readonly store: BridgeStore;
  /**
   * `poll` (the default) if the workspace has no target URL, `push` if the service pushes to this bridge. In push mode,
   * the bridge also polls every 30 seconds, and more often while the workspace has no target URL.
   */
  readonly mode?: "poll" | "push";
  /**
   * Address of the bridge's HTTP server in push mode. Without this option, mount `handler` in your own HTTP server.
   */
  readonly listen?: ListenOptions;
  /**
   * Limits the channels and members to which games may write, because a game may name any id. `members`: drops direct
   * and ephemeral messages for members that were never reported. `all`: also drops messages for channels that were
   * never reported. Set this option if the chat can send to any id, e.g. to a system account. By default, all messages
   * are shown.
   */
  readonly onlyReported?: "members" | "all";
  /** Events to fetch when no cursor is saved: all held events (the default), or only new events. */
  readonly start?: "oldest" | "latest";
  /**
   * Called when events expired before the bridge fetched them. The function may tell the channels that messages were
   * missed.
   */
  readonly onMissed?: () => Promise<void> | void;
  /** Called when the service answers polls again after it had stopped. Log this. */
  readonly onReconnected?: () => void;
  /** Called for each problem, such as a failed poll or a refusal by the chat. The default emits a process warning. */
  readonly report?: (problem: Error) => void;
  /** Milliseconds after which a call to the chat counts as refused; 30,000 by default. */
  readonly chatTimeoutMs?: number;
}

/** @throws TypeError when an option is missing or invalid */
export function checkOptions(options: BridgeOptions): void {
  const { baseUrl, workspaceId, mode, listen, onlyReported, store } = options;
  if (!baseUrl) {
    throw new TypeError("baseUrl is missing: give the service's address, such as https://games.example");
  }
  if (!UUID_FORM.test(workspaceId)) {
    throw new TypeError(`workspaceId must be the UUID that the dashboard shows, not "${workspaceId}"`);
  }
  if (listen !== undefined && mode !== "push") {
    throw new TypeError('listen is only for pushes: set mode to "push", or omit listen');
  }
  if (onlyReported !== undefined && store.reported === undefined) {
    throw new TypeError("onlyReported needs a store with the field `reported`, such as folderStore");
  }
  if ((listen?.key === undefined) !== (listen?.cert === undefined)) {
    throw new TypeError("listen needs both key and cert, or neither behind a proxy that terminates TLS");
  }
  if (listen?.path !== undefined && !listen.path.startsWith("/")) {
    throw new TypeError(`listen.path must begin with "/", such as /events, not "${listen.path}"`);
  }
}
