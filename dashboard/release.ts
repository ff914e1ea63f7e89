import { createStore } from "./store";
import { createReleaseWatch } from "./words/compare-releases";

const SCRIPT = document.querySelector<HTMLScriptElement>('script[type="module"]')?.src;
const BUILT = document.querySelector<HTMLMetaElement>('meta[name="built"]')?.content;

/** Whether the page should be loaded again, because the server has another release of the pages. */
export const isOutdated = createStore(false);

const isOther = createReleaseWatch({
  script: SCRIPT === undefined ? "" : new URL(SCRIPT).pathname,
  builtAt: Number(BUILT ?? NaN),
});

/** Compares the server's release, which each answer of the API names in its headers, with the page's release. */
export function noteRelease(headers: Headers): void {
  const script = headers.get("x-dashboard-script");
  if (script === null) return;
  const builtAt = Number(headers.get("x-dashboard-built") ?? NaN);
  if (isOther({ script, builtAt }, Date.now())) isOutdated.set(true);
}

// Vite sends this event when a part of the script cannot be loaded, e.g. because the release of this page is gone.
addEventListener("vite:preloadError", () => isOutdated.set(true));
