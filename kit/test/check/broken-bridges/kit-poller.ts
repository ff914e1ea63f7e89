import { setTimeout as sleep } from "node:timers/promises";
import { REAL_TIMING } from "../../../back-off";
import { createCatchUp } from "../../../catch-up";
import type { PollerPlace } from "../../../check/poll/check-poller";
import { cursorInMemory } from "../../../cursor-store";
import { runPoller } from "../../../poller";
import { createSender } from "../../../sender";
import { chatCalls, SECRET, type MemoryChat } from "./memory-chat";

/** A bridge that polls. */
export interface RunningPoller {
  stop(): Promise<void>;
}

/**
 * Starts a bridge that polls and is built with the kit. The bridge also sends one event. Each call to the chat takes
 * `tookMs` milliseconds.
 */
export function startKitPoller(
  { baseUrl, workspace }: PollerPlace,
  chat: MemoryChat,
  tookMs = 0,
): RunningPoller {
  const { post, dm, edit, ephemeral } = chatCalls(chat);
  const slow = (): Promise<void> => sleep(tookMs);
  const catchUp = createCatchUp({
    chat: {
      post: (...call) => slow().then(() => post(...call)),
      dm: (...call) => slow().then(() => dm(...call)),
      edit: (...call) => slow().then(() => edit(...call)),
      ephemeral: (...call) => slow().then(() => ephemeral(...call)),
    },
  });
  const stopping = new AbortController();
  const { signal } = stopping;
  // `REAL_TIMING.now` still refers to the real `Date.now`, because it was read before the test faked the clock.
  const timing = { ...REAL_TIMING, now: () => Date.now() };
  const where = { baseUrl, workspaceId: workspace, secrets: SECRET, timing };
  const event = { type: "command", channel: "c1", user: { id: "u1" }, text: "help" } as const;
  const sent = createSender(where).send(event, { signal });
  const polled = runPoller({
    ...where,
    cursors: cursorInMemory(),
    handle: catchUp.takePage,
    report: () => undefined,
    signal,
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all([sent, polled, catchUp.close()]);
    },
  };
}
