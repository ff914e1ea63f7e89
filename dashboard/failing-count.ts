import type { StateCounts } from "../proto/json/shapes";
import { api } from "./api";
import { createStore } from "./store";

/** The number of failing workspaces, which the window's title and icon show on every page. */
export const failingCount = createStore(0);

const LOOK_AGAIN_MS = 15_000;

/**
 * Sets the number from the counts that a page has read. `counts` is null if core has an older release; then the number
 * does not change.
 */
export function setFailingCount(counts: StateCounts | null): void {
  if (counts !== null) failingCount.set(counts.failing);
}

/**
 * Reads the number regularly, even while the page is hidden, because the user still sees the title of a hidden tab.
 * Returns a function that stops the reads.
 */
export function watchFailingCount(): () => void {
  const over = new AbortController();
  let soon: ReturnType<typeof setTimeout> | undefined;
  async function look(): Promise<void> {
    const answer = await api.counts(over.signal).catch(() => undefined);
    if (over.signal.aborted) return;
    if (answer !== undefined) setFailingCount(answer.counts);
    soon = setTimeout(() => void look(), LOOK_AGAIN_MS);
  }
  void look();
  return () => {
    over.abort();
    clearTimeout(soon);
    failingCount.set(0);
  };
}

const ICON = "/favicon.svg";
const FAILING_ICON = "/favicon-failing.svg";

/** Changes the icon of the window while any workspace is failing. */
failingCount.subscribe(() => {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link !== null) link.href = failingCount.get() > 0 ? FAILING_ICON : ICON;
});
