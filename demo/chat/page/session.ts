import { createStore } from "../../../dashboard/store";
import type { StreamEvent } from "../shapes";
import { clientFor, followChat, join, type ChatClient } from "./chat-client";
import { applyEvent, type ChatState } from "./chat-state";

/** The member of this tab. Each tab is a separate member, and keeps it when reloaded. */
export type Session =
  | { readonly is: "out"; readonly name: string; readonly why: string | null }
  | { readonly is: "in"; readonly client: ChatClient };

const KEY = "chat-key";
const NAME = "chat-name";

export const session = createStore<Session>({ is: "out", name: kept(NAME), why: null });
export const chatState = createStore<ChatState | undefined>(undefined);

function kept(name: string): string {
  return sessionStorage.getItem(name) ?? "";
}

let heard: (event: StreamEvent) => void = () => undefined;

/** Sets the function that is called with each event before it is applied; replaces the previous one. */
export function onStreamEvent(then: (event: StreamEvent) => void): void {
  heard = then;
}

function enter(key: string): void {
  session.set({ is: "in", client: clientFor(key) });
  const stop = followChat(key, {
    onEvent(event) {
      heard(event);
      chatState.set(applyEvent(chatState.get(), event));
    },
    onAway() {
      const state = chatState.get();
      if (state !== undefined) chatState.set({ ...state, isLive: false });
    },
    onUnknown() {
      stop();
      leave("You are no longer a member of this chat; join again.");
    },
  });
}

/** Removes the notice. */
export function dismissNotice(): void {
  const state = chatState.get();
  if (state !== undefined) chatState.set({ ...state, notice: null });
}

function leave(why: string): void {
  sessionStorage.removeItem(KEY);
  chatState.set(undefined);
  session.set({ is: "out", name: kept(NAME), why });
}

/** Continues as the member that this tab was before a reload, if any. */
export function resume(): void {
  const key = kept(KEY);
  if (key !== "") enter(key);
}

export async function joinAs(name: string): Promise<void> {
  const { member, key } = await join(name);
  sessionStorage.setItem(KEY, key);
  sessionStorage.setItem(NAME, member.name);
  enter(key);
}
